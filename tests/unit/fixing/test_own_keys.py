"""Settings of a job's own program, found by name; and values that stand in variables."""

from pathlib import Path

import pytest

import unhang
from unhang.errors import UsageError
from unhang.model.diagnosis import Diagnosis, Fix, FixKind, Outcome
from unhang.model.provenance import Message

NOTHING = Message(key="fix.verbatim", values={"text": ""})


def fix(framework: str, where: str, patch: str, remedy: str) -> Fix:
    return Fix(
        title=NOTHING, kind=FixKind.CURE, framework=framework, where=where, patch=patch,
        reaches="all ranks", risk=NOTHING, verify=NOTHING, remedy=remedy,
    )  # fmt: skip


def verdict(asked: Fix) -> Diagnosis:
    return Diagnosis(outcome=Outcome.CAUSE, summary=NOTHING, fixes=(asked,))


def write(folder: Path, **texts: str) -> list[str]:
    paths = [folder / name.replace("__", ".") for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


BATCH = fix("torch", "python", "loader = DataLoader(data, batch_size=4)\n", "smaller_batch")
LOADERS = fix("torch", "python", "loader = DataLoader(data, num_workers=4)\n", "fewer_loaders")
PROGRAM = (
    "import argparse\n\n\ndef main():\n    p = argparse.ArgumentParser()\n"
    "    p.add_argument('--batch-size', type=int, default=16)\n"
    "    p.add_argument('--accum-steps', type=int, default=1)\n    p.parse_args()\n"
)


def changed(paths: list[str], asked: Fix = BATCH) -> dict[str, str]:
    """What each file becomes, by its name."""
    done = unhang.fix(paths, verdict(asked))
    return {Path(f.path).name: f.after for f in done.files if f.changed}


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        ("a.py", "batch_size = 12\ngrad_accum = 5 * 8\n", "batch_size = 6\ngrad_accum = 5 * 8 * 2"),
        ("a.yaml", "data:\n  loader:\n    batch_size: 8\n  eval_batch_size: 4\n", "batch_size: 4"),
        ("a.toml", "[training]\nbatch_size = 32\ngradient_accumulation_steps = 2\n",
         "batch_size = 16\ngradient_accumulation_steps = 4"),
        ("a.sh", "torchrun train.py --train-batch 1 --max-tokens 4096 --update-freq 1\n",
         "--max-tokens 2048 --update-freq 2"),
        ("a.sh", "torchrun train.py trainer.x=1 actor.micro_batch_size=8\n",
         "actor.micro_batch_size=4"),
        ("b.py", PROGRAM, "type=int, default=8)\n    p.add_argument('--accum-steps', type=int,"
         " default=2)"),
        ("c.py", "class C:\n    batch_size: int = 4\n", "batch_size: int = 2"),
    ],
)  # fmt: skip
def test_the_one_key_of_its_kind_is_changed(
    tmp_path: Path, name: str, text: str, after: str
) -> None:
    paths = write(tmp_path, **{name.replace(".", "__"): text})
    done = unhang.fix(paths, verdict(BATCH))
    assert after in done.after
    assert "own program" in done.remarks[0]


def test_what_overrides_is_changed_and_not_the_default(tmp_path: Path) -> None:
    paths = write(tmp_path, train__py=PROGRAM, run__sh="torchrun train.py --batch-size 32\n")
    assert changed(paths) == {"run.sh": "torchrun train.py --batch-size 16\n"}
    paths = write(tmp_path, config__py="batch_size = 4\n", train__py=PROGRAM)
    assert changed(paths) == {"config.py": "batch_size = 2\n"}


def test_the_framework_s_own_key_and_several_are_left_alone(tmp_path: Path) -> None:
    asked = fix("verl", "hydra", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
                "smaller_batch")  # fmt: skip
    (path,) = write(tmp_path, a__sh="python3 -m verl.trainer.main_ppo data.train_batch_size=64"
                    " actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1\n")  # fmt: skip
    with pytest.raises(UsageError, match="is already 1"):
        unhang.fix(path, verdict(asked))
    (path,) = write(tmp_path, b__yaml="one:\n  batch_size: 4\ntwo:\n  batch_size: 8\n")
    with pytest.raises(UsageError, match="2 keys may be meant"):
        unhang.fix(path, verdict(BATCH))
    (path,) = write(tmp_path, c__yaml="data:\n  num_workers: 24\n")
    assert changed([path], LOADERS) == {"c.yaml": "data:\n  num_workers: 12\n"}
    (path,) = write(tmp_path, d__yaml="val:\n  batch_size: 8\nmodel: m\n")
    with pytest.raises(UsageError, match="Python code"):
        unhang.fix(path, verdict(BATCH))


ASKED = fix("transformers", "yaml", "per_device_train_batch_size: 4", "smaller_batch")
RUN = "torchrun run_clm.py --output_dir o --per_device_train_batch_size $BS\n"


@pytest.mark.parametrize(
    ("script", "after"),
    [
        (f"BS=16\n{RUN}", "BS=8\n"),
        (f"export BS='16'\necho $BS\n{RUN}", "export BS='8'\n"),
        (f"BS=${{BS:-16}}\n{RUN}", "BS=${BS:-8}\n"),
        (f"N=16\nBS=$N\n{RUN}", "N=8\nBS=$N\n"),
        (f'BS=16\nwhile [ $# -gt 0 ]; do BS="$2"; shift; done\n{RUN}', "BS=8\n"),
    ],
)
def test_a_value_is_changed_where_its_variable_takes_it_from(
    tmp_path: Path, script: str, after: str
) -> None:
    (path,) = write(tmp_path, run__sh=script)
    done = unhang.fix(path, verdict(ASKED))
    assert after in done.after
    assert done.after.endswith(
        "--per_device_train_batch_size $BS --gradient_accumulation_steps 2\n"
    )


@pytest.mark.parametrize(
    "script",
    [f"BS=16\nBS=32\n{RUN}", f"BS=$((4*4))\n{RUN}", f"BS=16\npython prepare.py $BS\n{RUN}", RUN],
)
def test_a_variable_that_means_more_than_this_is_left_alone(tmp_path: Path, script: str) -> None:
    (path,) = write(tmp_path, run__sh=script)
    with pytest.raises(UsageError, match=r"computes|change it where it is set"):
        unhang.fix(path, verdict(ASKED))


def test_a_usage_in_a_quoted_text_is_nobody_s_command(tmp_path: Path) -> None:
    usage = ": '\ntrain.sh --batch_size 32\n'\n"
    paths = write(tmp_path, train__sh=f"{usage}torchrun train.py $@\n", a__yaml="batch_size: 8\n")
    assert changed(paths) == {"a.yaml": "batch_size: 4\n"}


def test_a_program_that_takes_flags_gets_a_flag(tmp_path: Path) -> None:
    asked = fix("llama-factory", "yaml", "per_device_train_batch_size: 4", "smaller_batch")
    (path,) = write(tmp_path, a__sh="llamafactory-cli train --stage sft --output_dir o"
                    " --per_device_train_batch_size 4\n")  # fmt: skip
    after = unhang.fix(path, verdict(asked)).after
    assert after.endswith("--per_device_train_batch_size 2 --gradient_accumulation_steps 2\n")


def test_a_loop_of_its_own_takes_no_other_flag_of_the_trainer(tmp_path: Path) -> None:
    asked = fix("transformers", "yaml", "gradient_checkpointing: true", "recompute")
    (path,) = write(tmp_path, a__sh="accelerate launch run.py --output_dir o --with_tracking\n"
                    "python merge.py --output_dir o\n")  # fmt: skip
    with pytest.raises(UsageError, match="line 1 starts a program with `--with_tracking`"):
        unhang.fix(path, verdict(asked))


def test_another_key_of_the_same_cure_is_changed_where_it_stands(tmp_path: Path) -> None:
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    asked = fix("verl", "hydra", f"{actor}.ppo_micro_batch_size_per_gpu=4", "smaller_batch")
    (path,) = write(
        tmp_path,
        a__sh=f"python3 -m verl.trainer.main_ppo {actor}.ppo_micro_batch_size_per_gpu=1"
        f" {rollout}.gpu_memory_utilization=0.8\n",
    )
    done = unhang.fix(path, verdict(asked))
    assert f"{rollout}.gpu_memory_utilization=0.64" in done.after
    assert done.written[0][1].title.key == "fix.smaller_batch.title.rollout"


def test_a_key_of_the_trainer_is_not_the_job_s_own(tmp_path: Path) -> None:
    asked = fix("deepspeed", "json", '{"train_micro_batch_size_per_gpu": 4}', "smaller_batch")
    run = "accelerate launch a.py --per_device_train_batch_size 4"
    (path,) = write(tmp_path, a__sh=f"{run} --deepspeed z.json\n")
    with pytest.raises(UsageError, match="DeepSpeed's JSON"):
        unhang.fix(path, verdict(asked))
    (path,) = write(tmp_path, a__sh=f"{run}\n")  # No file says the same once more.
    assert changed([path], asked)["a.sh"].endswith("--per_device_train_batch_size 2\n")
    (path,) = write(tmp_path, b__yaml="data:\n  num_workers: 2\n")
    with pytest.raises(UsageError, match="is already 2"):
        unhang.fix(path, verdict(LOADERS))


LONGER = fix("torch", "python", "dist.init_process_group('nccl', timeout=timedelta(seconds=7200))",
             "")  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        (
            "a.sh",
            "torchrun t.py --nccl_timeout 1800 --init_timeout 60\n",
            "--nccl_timeout 7200 --i",
        ),
        ("a.yaml", "trainer:\n  timeout: 1800\nhttp_timeout: 99\n", "timeout: 7200\nhttp"),
        ("a.toml", "[dist]\ntimeout_minutes = 10\n", "timeout_minutes = 120"),
        ("a.py", "ddp_timeout_in_seconds = 600\n", "ddp_timeout_in_seconds = 7200"),
    ],
)
def test_a_limit_of_its_own_is_lengthened_in_its_unit(
    tmp_path: Path, name: str, text: str, after: str
) -> None:
    (path,) = write(tmp_path, **{name.replace(".", "__"): text})
    assert after in changed([path], LONGER)[name]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("dist_timeout: 30\n", "nothing tells its unit"),
        ("dist_timeout: 9000\n", "another limit ran out"),
        ("rdzv_timeout: 600\nnccl_http_timeout: 600\n", "Python code"),
    ],
)
def test_a_limit_of_another_kind_is_left(tmp_path: Path, text: str, why: str) -> None:
    (path,) = write(tmp_path, a__yaml=text)
    with pytest.raises(UsageError, match=why):
        changed([path], LONGER)


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        ("a.py", "def get_config():\n  c = D()\n  c.data.batch_size = 8\n  return c\n",
         "c.data.batch_size = 4"),
        ("a.py", "config = ConfigDict(batch_size=8, seed=1)\n", "batch_size=4"),
        ("a.py", "class A:\n    batch_size: int = field(default=8)\n", "field(default=4)"),
        ("a.py", "def main(lr: float, batch_size: int = 8):\n    pass\n", "int = 4"),
        ("a.py", "flags.DEFINE_integer('batch_size', 8, 'n')\n", "'batch_size', 4"),
        ("a.yaml", "global_train_batch_size: 64\ndevice_train_microbatch_size: 8\n", "size: 4"),
        ("a.sh", 'A="--x 1 \\\n"\nB="\n++t.batch_size_training=4 \\\n"\ntorchrun a.py $A $B\n',
         "training=2"),
    ],
)  # fmt: skip
def test_a_batch_is_found_however_it_is_said(
    tmp_path: Path, name: str, text: str, after: str
) -> None:
    (path,) = write(tmp_path, **{name.replace(".", "__"): text})
    assert after in changed([path])[name]


def test_what_is_worked_out_from_the_batch_is_left(tmp_path: Path) -> None:
    text = (
        "PER_GPU=4\nACC=$((64 / PER_GPU))\ntorchrun a.py --batch_size $PER_GPU --accum_steps $ACC\n"
    )
    (path,) = write(tmp_path, a__sh=text)
    assert changed([path])["a.sh"] == text.replace("=4", "=2")


def test_no_loader_is_added_to_have_fewer(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a__yaml="data:\n  num_workers: 0\n")
    with pytest.raises(UsageError, match="is already 0"):
        unhang.fix(path, verdict(LOADERS))


def test_a_longer_limit_comes_before_another_form_of_the_model(tmp_path: Path) -> None:
    gather = '{"zero_optimization": {"stage3_gather_16bit_weights_on_model_save": false}}'
    fixes = (
        fix("transformers", "json", gather, "sharded_save"),
        fix("transformers", "yaml", "ddp_timeout: 7200", ""),
    )
    zero = '{"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": true}}'
    paths = write(tmp_path, a__yaml="output_dir: o\n", z__json=zero)
    done = unhang.fix(paths, Diagnosis(outcome=Outcome.CAUSE, summary=NOTHING, fixes=fixes))
    assert [number for number, _ in done.written] == [2]


def test_a_way_of_sharding_that_no_file_speaks_of_gets_no_variable(tmp_path: Path) -> None:
    patch = "export FSDP_STATE_DICT_TYPE=SHARDED_STATE_DICT"
    asked = fix("transformers", "env", patch, "sharded_save")
    (path,) = write(tmp_path, a__sh="deepspeed a.py --output_dir o\n")
    with pytest.raises(UsageError, match="sharded by FSDP"):
        unhang.fix(path, verdict(asked))
    (path,) = write(tmp_path, b__sh="torchrun a.py --output_dir o --fsdp full_shard\n")
    assert patch in changed([path], asked)["b.sh"]


def test_a_fork_keeps_the_ends_of_keys(tmp_path: Path) -> None:
    patch = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4"
    smaller = verdict(fix("verl", "hydra", patch, "smaller_batch"))
    text = "worker:\n  rollout:\n    gpu_memory_utilization: 0.8  # share\n"
    (path,) = write(tmp_path, config__yaml=text)
    done = unhang.fix(path, smaller)
    assert done.after == text.replace("0.8", "0.64")
    assert "worker.rollout.gpu_memory_utilization" in done.remarks[0]
    other = "other:\n  rollout:\n    gpu_memory_utilization: 0.5\n"
    (path,) = write(tmp_path, config__yaml=f"{text}{other}")
    with pytest.raises(UsageError, match="cannot take any fix"):
        unhang.fix(path, smaller)


@pytest.mark.parametrize(
    ("comment", "after"),
    [
        ("micro batch size: of each GPU", "B = 32"),
        ("batch size", "B = 32"),
        ("total batch size", None),
        ("before the batch size was known", None),
        ("batch size in evaluation", None),
    ],
)
def test_what_a_constant_is_stands_behind_it(
    tmp_path: Path, comment: str, after: str | None
) -> None:
    text = f"T = 8 # length\nB = 64 # {comment}\n\ndef f():\n    return B * T\n"
    paths = write(tmp_path, train__py=text)
    if after is not None:
        assert changed(paths) == {"train.py": text.replace("B = 64", after)}
        return
    with pytest.raises(UsageError, match="cannot take any fix"):
        changed(paths)


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        ("a.yaml", "model:\n  gradient_checkpointing: false\n", "gradient_checkpointing: true"),
        ("a.sh", "torchrun a.py --grad_checkpointing False --x 1\n", "--grad_checkpointing True"),
        ("a.py", "use_checkpoint = False\n", "use_checkpoint = True"),
        ("a.json", '{"activation_checkpointing": false}', '"activation_checkpointing": true'),
    ],
)
def test_a_switch_of_its_own_is_turned(tmp_path: Path, name: str, text: str, after: str) -> None:
    (path,) = write(tmp_path, **{name.replace(".", "__"): text})
    asked = fix("torch", "python", "checkpoint(model)", "recompute")
    assert after in changed([path], asked)[name]


def test_a_switch_that_is_on_is_left(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a__yaml="gradient_checkpointing: true\n")
    with pytest.raises(UsageError, match="is already true"):
        changed([path], fix("torch", "python", "checkpoint(model)", "recompute"))


def test_the_batch_of_the_loader_that_trains_is_smaller(tmp_path: Path) -> None:
    text = (
        "def f():\n    train_loader = DataLoader(a, batch_size=8)\n"
        "    val_loader = DataLoader(b, batch_size=16)\n    return train_loader, val_loader\n"
    )
    (path,) = write(tmp_path, a__py=text)
    assert changed([path])["a.py"] == text.replace("size=8", "size=4")


@pytest.mark.parametrize(
    ("text", "asked", "why"),
    [
        ("output_dir: o\neval_strategy: steps\neval_steps: 50\n",
         fix("trl", "yaml", "eval_strategy: steps\neval_steps: 2000", "eval_rarely"),
         "however rare"),
        ("compute_environment: LOCAL\ndistributed_type: DEEPSPEED\nfsdp_config: {}\n",
         fix("accelerate", "yaml", "fsdp_config:\n  fsdp_activation_checkpointing: true",
             "recompute"), "not sharded in this way"),
        ("trainer:\n  max_steps: 3\nmodel:\n  x: 1\n",
         fix("lightning", "yaml", "trainer:\n  strategy:\n    class_path: a.DDPStrategy\n"
             "    init_args:\n      timeout: '2:00:00'", ""), "command line of Lightning"),
    ],
)  # fmt: skip
def test_what_changes_nothing_there_is_refused(
    tmp_path: Path, text: str, asked: Fix, why: str
) -> None:
    (path,) = write(tmp_path, a__yaml=text)
    with pytest.raises(UsageError, match=why):
        unhang.fix(path, verdict(asked))


def test_the_batch_of_a_step_is_not_that_of_all_ranks(tmp_path: Path) -> None:
    text = "deepspeed a.py --train_batch_size 64 --micro_train_batch_size 4\n"
    (path,) = write(tmp_path, a__sh=text)
    assert changed([path])["a.sh"] == text.replace("size 4", "size 2")


@pytest.mark.parametrize(
    ("flag", "after"),
    [("--deepspeed $DS", "--ddp_timeout 3600"), ("--deepspeed", "DEEPSPEED_TIMEOUT=60\n")],
)
def test_who_sets_the_limit_is_told_by_the_flag_of_deepspeed(
    tmp_path: Path, flag: str, after: str
) -> None:
    asked = fix("deepspeed", "env", "export DEEPSPEED_TIMEOUT=60  # minutes", "")
    (path,) = write(tmp_path, a__sh=f"deepspeed a.py --output_dir o {flag} --x 1\n")
    assert after in changed([path], asked)["a.sh"]
