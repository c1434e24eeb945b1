"""The files of one job are read together, and each setting goes into the one that reads it."""

import json
from pathlib import Path

import pytest

import unhang
from unhang.errors import UsageError
from unhang.model.diagnosis import Diagnosis, Fix, FixKind, Outcome
from unhang.model.provenance import Message
from unhang.reporters.fix import render_fix

NOTHING = Message(key="fix.verbatim", values={"text": ""})
SCRIPT = """\
#!/bin/bash
export NCCL_DEBUG=WARN
accelerate launch --config_file acc.yaml sft.py --config sft.yaml
"""
ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: 3
  zero3_save_16bit_model: true
"""
TRAINING = "model_name_or_path: m\noutput_dir: o\nper_device_train_batch_size: 8  # per GPU\n"
ZERO = {
    "zero_optimization": {"stage": 3},
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": "auto",
}
HEREDOC = """\
#!/bin/bash
cat > ds.json <<'JSON'
{
  "zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": true}
}
JSON
llamafactory-cli train sft.yaml
"""


def fix(framework: str, where: str, patch: str, remedy: str = "") -> Fix:
    return Fix(
        title=NOTHING, kind=FixKind.CURE, framework=framework, where=where, patch=patch,
        reaches="all ranks", risk=NOTHING, verify=NOTHING, remedy=remedy,
    )  # fmt: skip


def verdict(*fixes: Fix) -> Diagnosis:
    return Diagnosis(outcome=Outcome.CAUSE, summary=NOTHING, fixes=fixes)


SAVE = fix("trl", "yaml", "deepspeed_config:\n  zero3_save_16bit_model: false", "sharded_save")
BATCH = fix(
    "trl",
    "yaml",
    "per_device_train_batch_size: 4\ngradient_accumulation_steps: 2",
    "smaller_batch",
)
WAIT = fix("trl", "yaml", "ddp_timeout: 7200")
VARIABLE = fix("trl", "env", "export NCCL_NVLS_ENABLE=0")


def write(folder: Path, **texts: str) -> list[str]:
    paths = []
    for name, text in texts.items():
        path = folder / name.replace("__", ".")
        path.write_text(text)
        paths.append(str(path))
    return paths


def test_each_fix_goes_into_the_file_that_is_read_for_it(tmp_path: Path) -> None:
    paths = write(tmp_path, run__sh=SCRIPT, acc__yaml=ACCELERATE, sft__yaml=TRAINING)
    done = unhang.fix(paths, verdict(SAVE, WAIT, VARIABLE), fixes=[1, 2, 3])
    script, accelerate, training = done.files
    assert script.after == SCRIPT.replace("WARN\n", "WARN\nexport NCCL_NVLS_ENABLE=0\n")
    assert accelerate.after == ACCELERATE.replace("model: true", "model: false")
    assert training.after == TRAINING + "ddp_timeout: 7200\n"


def test_a_value_in_a_variable_is_told_as_it_stands(tmp_path: Path) -> None:
    flags = '--per_device_train_batch_size ${BATCH} --output_dir o --bf16 "${EXTRA_ARGS[@]}"'
    paths = write(tmp_path, run__sh=f"torchrun train.py {flags}\n")
    asked = fix("transformers", "cli", "--per_device_train_batch_size 4", "smaller_batch")
    with pytest.raises(UsageError, match=r"is \$\{BATCH\}: change it where it is set"):
        unhang.fix(paths, verdict(asked))


def test_what_must_agree_changes_together(tmp_path: Path) -> None:
    paths = write(tmp_path, sft__yaml=TRAINING, ds__json=json.dumps(ZERO, indent=2))
    training, zero = unhang.fix(paths, verdict(BATCH)).files
    assert "per_device_train_batch_size: 4  # per GPU" in training.after
    assert "gradient_accumulation_steps: 2" in training.after
    assert json.loads(zero.after) == {**ZERO, "train_micro_batch_size_per_gpu": 4}


def test_a_partner_that_is_not_given_is_named(tmp_path: Path) -> None:
    write(tmp_path, ds__json=json.dumps(ZERO))
    (path,) = write(tmp_path, sft__yaml=TRAINING + "deepspeed: ds.json\n")
    with pytest.raises(UsageError, match=r"ds\.json holds `train_micro_batch_size_per_gpu`"):
        unhang.fix(path, verdict(BATCH))
    assert (tmp_path / "sft.yaml").read_text().startswith(TRAINING)


def test_files_that_contradict_each_other_are_left_alone(tmp_path: Path) -> None:
    other = json.dumps({**ZERO, "train_micro_batch_size_per_gpu": 2})
    paths = write(tmp_path, sft__yaml=TRAINING, ds__json=other)
    with pytest.raises(UsageError, match="make them agree first"):
        unhang.fix(paths, verdict(BATCH), apply=True)
    assert (tmp_path / "ds.json").read_text() == other


def test_what_the_trainer_refuses_is_not_written_into_another_file(tmp_path: Path) -> None:
    accelerate = "distributed_type: FSDP\nfsdp_config:\n  fsdp_state_dict_type: FULL_STATE_DICT\n"
    weights = TRAINING + "save_only_model: true\n"
    paths = write(tmp_path, acc__yaml=accelerate, sft__yaml=weights)
    patch = "fsdp_config:\n  fsdp_state_dict_type: SHARDED_STATE_DICT"
    change = fix("open-r1", "yaml", patch, "sharded_save")
    with pytest.raises(UsageError, match="refuses SHARDED_STATE_DICT beside `save_only_model`"):
        unhang.fix(paths, verdict(change))
    write(tmp_path, sft__yaml=TRAINING)
    sharded, _ = unhang.fix(paths, verdict(change)).files
    assert sharded.after == accelerate.replace("FULL", "SHARDED")


def test_a_configuration_within_a_script_is_changed_there(tmp_path: Path) -> None:
    gather = "zero_optimization", "stage3_gather_16bit_weights_on_model_save"
    change = fix("llama-factory", "json", json.dumps({gather[0]: {gather[1]: False}}))
    (path,) = write(tmp_path, run__sh=HEREDOC)
    done = unhang.fix(path, verdict(change), apply=True)
    assert done.after == HEREDOC.replace('save": true', 'save": false')
    assert Path(path).read_text() == done.after


def test_a_file_that_only_stands_beside_is_named_where_the_setting_belongs(tmp_path: Path) -> None:
    write(tmp_path, acc__yaml=ACCELERATE)
    (path,) = write(tmp_path, run__sh=SCRIPT)
    with pytest.raises(UsageError, match=r"belongs in .*acc\.yaml: give that file too"):
        unhang.fix(path, verdict(SAVE), fixes=[1])


def test_what_stands_on_the_command_line_is_changed_there(tmp_path: Path) -> None:
    script = "#!/bin/bash\ntrl sft --config sft.yaml --ddp_timeout 1800\n"
    paths = write(tmp_path, sft__yaml=TRAINING + "ddp_timeout: 900\n", run__sh=script)
    training, launch = unhang.fix(paths, verdict(WAIT)).files
    assert not training.changed
    assert launch.after == script.replace("1800", "7200")


def test_one_file_that_cannot_be_written_leaves_all_as_they_were(tmp_path: Path) -> None:
    paths = write(tmp_path, sft__yaml=TRAINING, ds__json=json.dumps(ZERO))
    (tmp_path / "same").hardlink_to(tmp_path / "ds.json")
    with pytest.raises(UsageError, match="hard links"):
        unhang.fix(paths, verdict(BATCH), apply=True)
    assert (tmp_path / "sft.yaml").read_text() == TRAINING
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ds.json", "same", "sft.yaml"]


def test_the_difference_names_every_file(tmp_path: Path) -> None:
    paths = write(tmp_path, sft__yaml=TRAINING, ds__json=json.dumps(ZERO, indent=2))
    done = unhang.fix(paths, verdict(BATCH))
    text = render_fix(done, "diff")
    assert [line for line in text.split("\n") if line.startswith("+++")] == [
        f"+++ {path}" for path in paths
    ]
    value = json.loads(render_fix(done, "json"))
    assert [file["changed"] for file in value["files"]] == [True, True]


@pytest.mark.parametrize(
    ("present", "after"),
    [
        ("max_split_size_mb:128", "max_split_size_mb:128,expandable_segments:True"),
        ("expandable_segments:False", "expandable_segments:True"),
    ],
)
def test_other_options_of_the_allocator_stay(tmp_path: Path, present: str, after: str) -> None:
    change = fix("trl", "env", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
    script = f"export PYTORCH_CUDA_ALLOC_CONF={present}\ntrl sft --config sft.yaml\n"
    (path,) = write(tmp_path, run__sh=script)
    assert unhang.fix(path, verdict(change)).after == script.replace(present, after)


def test_a_timeout_below_the_default_of_the_release_is_refused(tmp_path: Path) -> None:
    change = fix("ms-swift", "cli", "--ddp_timeout 7200")
    (path,) = write(tmp_path, run__sh="swift sft --model m\n")
    with pytest.raises(UsageError, match="default of 18000000 is longer"):
        unhang.fix(path, verdict(change))


@pytest.mark.parametrize(
    ("framework", "remedy", "name", "text", "patch", "message"),
    [
        ("trl", "eval_rarely", "a.yaml", TRAINING + "eval_strategy: steps\neval_steps: 0.25\n",
         "eval_strategy: steps\neval_steps: 2000", "a share of the whole"),
        ("megatron", "recompute", "a.sh", "torchrun pretrain_gpt.py --recompute-activations\n",
         "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
         "back to `selective`"),
        ("torchtune", "async_save", "a.sh", "tune run --nproc_per_node 4 lora_finetune_distributed"
         " --config llama3/8B_lora\n", "enable_async_checkpointing=True", "not seen to run"),
        ("verl", "smaller_batch", "a.sh", "python3 -m verl.trainer.main_ppo"
         " data.max_response_length=20000 actor_rollout_ref.actor.use_dynamic_bsz=True"
         " actor_rollout_ref.actor.ppo_max_token_len_per_gpu=24000\n",
         "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=12288", "cannot go below 20512"),
        ("open_clip", "even_steps", "a.sh", "torchrun -m open_clip_train.main --dataset-type csv"
         " --model x\n", "--dataset-resampled", "nobody reads"),
    ],
)  # fmt: skip
def test_what_the_release_would_refuse_or_ignore_is_not_written(  # noqa: PLR0917
    tmp_path: Path, framework: str, remedy: str, name: str, text: str, patch: str, message: str
) -> None:  # fmt: skip
    where = "yaml" if name.endswith("yaml") else ("hydra" if "=" in patch else "cli")
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        unhang.fix(str(path), verdict(fix(framework, where, patch, remedy)))


@pytest.mark.parametrize(
    ("batch", "new", "steps"), [(8, 4, 2), (6, 3, 2), (5, 1, 5), (9, 3, 3), (11, 5, 3)]
)
def test_a_smaller_batch_divides_the_one_before(
    tmp_path: Path, batch: int, new: int, steps: int
) -> None:
    (path,) = write(tmp_path, a__yaml=TRAINING.replace("8", str(batch)))
    after = unhang.fix(path, verdict(BATCH)).after
    assert f"per_device_train_batch_size: {new}  # per GPU" in after
    assert f"gradient_accumulation_steps: {steps}" in after


CODE = """\
import argparse
import datetime

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--timeout", type=float, default=600.0)
options = parser.parse_args()
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=options.timeout))
"""
LONGER = fix(
    "torch",
    "python",
    'dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=7200))',
)


def test_a_timeout_that_code_takes_from_a_flag_is_changed_at_the_launch(tmp_path: Path) -> None:
    script = "#!/bin/sh\nexec torchrun --nproc-per-node 4 train.py --fsdp 1 --timeout 12\n"
    write(tmp_path, train__py=CODE)
    (path,) = write(tmp_path, train__sh=script)
    assert unhang.fix(path, verdict(LONGER)).after == script.replace("12\n", "7200\n")
    minutes = fix("deepspeed", "env", "export DEEPSPEED_TIMEOUT=90")
    assert unhang.fix(path, verdict(minutes)).after == script.replace("12\n", "5400\n")


def test_a_timeout_that_stands_in_code_is_changed_there(tmp_path: Path) -> None:
    code = CODE.replace("seconds=options.timeout", "minutes=10")
    script, program = write(tmp_path, train__sh="torchrun train.py\n", train__py=code)
    with pytest.raises(UsageError, match=r"train\.py:9 sets it: give that file too"):
        unhang.fix(script, verdict(LONGER))
    done = unhang.fix([script, program], verdict(LONGER))
    assert done.after == code.replace("minutes=10", "minutes=120")


@pytest.mark.parametrize(
    ("value", "message"),
    [("seconds=limit()", "computes the timeout"), ("minutes=300", "is already 300: another")],
)
def test_a_timeout_that_cannot_grow_in_code_is_left(
    tmp_path: Path, value: str, message: str
) -> None:
    code = CODE.replace("seconds=options.timeout", value)
    paths = write(tmp_path, train__sh="torchrun train.py\n", train__py=code)
    with pytest.raises(UsageError, match=message):
        unhang.fix(paths, verdict(LONGER))


def test_a_setting_is_known_under_the_name_that_another_file_gives_it(tmp_path: Path) -> None:
    sharded = "distributed_type: FSDP\nfsdp_config:\n  fsdp_state_dict_type: SHARDED_STATE_DICT\n"
    paths = write(tmp_path, run__sh=SCRIPT, acc__yaml=sharded, sft__yaml=TRAINING)
    with pytest.raises(UsageError, match="refuses it beside SHARDED_STATE_DICT"):
        unhang.fix(paths, verdict(fix("trl", "yaml", "save_only_model: true", "smaller_save")))


def test_a_json_that_is_not_deepspeeds_is_not_called_so(tmp_path: Path) -> None:
    paths = write(tmp_path, run__sh=SCRIPT, fsdp__json='{"transformer_layer_cls_to_wrap": "x"}')
    with pytest.raises(UsageError, match="does not look like a configuration of trl"):
        unhang.fix(paths, verdict(SAVE))


NAMED_CONFIG = """\
srun torchrun --nnodes 4 -m torchtitan.train --module llama3 --config ${CONFIG} "$@"
"""
OWN_PROGRAM = "torchrun train.py --scale small --data_dir /data --precision amp\n"
MADE_AS_TEXT = """\
python prepare.py --out $DATA
python index.py --out $DATA
srun bash -c "$LAUNCHER --node_rank \\$SLURM_PROCID $CMD"
"""


OTHER_TREE = """\
python3 -m verl.trainer.own config=own.yaml data.train_files=a worker.model.path=m trainer.nnodes=2
"""
BESIDE_AN_ENGINE = """\
PERF=(--micro-batch-size 2 --sglang-mem-fraction 0.7)
python train.py --train-iters 9 ${PERF[@]}
"""
OLDER_FORM = """\
python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_micro_batch_size=32 data.x=1
"""


@pytest.mark.parametrize(
    ("script", "framework", "patch", "remedy", "why"),
    [
        (
            NAMED_CONFIG,
            "torchtitan",
            "--training.local_batch_size 4",
            "smaller_batch",
            r"`config` \(\$\{CONFIG\}\) may set it",
        ),
        (
            OWN_PROGRAM,
            "open_clip",
            "--batch-size 32 --accum-freq 2",
            "smaller_batch",
            "`--scale`, which open_clip does not know",
        ),
        ("megatron sft --model m", "ms-swift", "--save_only_model true", "", "starts megatron-sw"),
        (MADE_AS_TEXT, "megatron", "--async-save", "", r"line 3 runs a command .* as text"),
        ("torchrun x.py\n", "trl", "--ddp_timeout 7200", "", "without any argument"),
        (
            OTHER_TREE,
            "verl",
            "++actor_rollout_ref.actor.checkpoint.save_contents='[model]'",
            "smaller_save",
            "with `config`, which verl does not know",
        ),
        (
            "python own.py config=own.yaml training.model.path=m\n",
            "nemo",
            "data.micro_batch_size=2",
            "smaller_batch",
            "with `config`, which nemo does not know",
        ),
        (
            "torchrun --nproc_per_node 8 --no-python bash worker.sh\n",
            "megatron-bridge",
            "dist.distributed_timeout_minutes=120",
            "",
            "without any argument",
        ),
        (
            "accelerate launch --use_fsdp train.py --x 1\n",
            "transformers",
            "FSDP_STATE_DICT_TYPE=SHARDED_STATE_DICT",
            "sharded_save",
            "nobody reads `FSDP_STATE_DICT_TYPE` while `use_fsdp`",
        ),
        (
            BESIDE_AN_ENGINE,
            "megatron",
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            "allocator",
            "the job runs sglang, too",
        ),
        (
            OLDER_FORM,
            "verl",
            "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
            "smaller_batch",
            "its older form for all GPUs together",
        ),
    ],
)
def test_a_program_or_release_that_may_not_take_it_is_left_alone(  # noqa: PLR0917
    tmp_path: Path, script: str, framework: str, patch: str, remedy: str, why: str
) -> None:
    (path,) = write(tmp_path, run__sh=script)
    form = "cli" if patch.startswith("-") else "hydra"
    if patch[0].isupper():
        form, patch = "env", f"export {patch}"
    with pytest.raises(UsageError, match=why):
        unhang.fix(path, verdict(fix(framework, form, patch, remedy)))


@pytest.mark.parametrize(
    ("allotted", "program", "written"),
    [
        ("--cpus-per-gpu=6", "python -m open_clip_train.main", False),
        ("--cpus-per-task=96", "torchrun --nproc_per_node 8 -m open_clip_train.main", True),
        ("--cpus-per-task=64", "torchrun --nproc_per_node 8 -m open_clip_train.main", False),
    ],
)
def test_loaders_are_no_more_than_the_cpus_of_a_rank(
    tmp_path: Path, allotted: str, program: str, written: bool
) -> None:
    script = f"#!/bin/bash\n#SBATCH {allotted}\nsrun {program} --model x --workers 6\n"
    (path,) = write(tmp_path, job__sh=script)
    more = verdict(fix("open_clip", "cli", "--workers 8", "faster_data"))
    if written:
        assert "--workers 12" in unhang.fix(path, more).after
        return
    with pytest.raises(UsageError, match=r"gives each rank [68] CPUs only"):
        unhang.fix(path, more)


def test_a_release_is_not_read_off_the_end_of_a_newer_name(tmp_path: Path) -> None:
    script = "python3 -m openrlhf.cli.train_ppo_ray --vllm.enforce_eager --ckpt.save_hf\n"
    (path,) = write(tmp_path, run__sh=script)
    after = unhang.fix(path, verdict(fix("openrlhf", "cli", "--ckpt.disable_ds", "smaller_save")))
    assert after.after == script.replace("\n", " --ckpt.disable_ds\n")


def test_a_nested_key_of_an_older_release_tells_the_release(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a__yaml="trainer:\n  devices: 8\nmodel:\n  micro_batch_size: 4\n")
    batch = fix("nemo", "hydra", "data.micro_batch_size=2", "smaller_batch")
    assert "\n  micro_batch_size: 2\n" in unhang.fix(path, verdict(batch)).after


@pytest.mark.parametrize(
    ("framework", "patch", "before", "after"),
    [
        (
            "ms-swift",
            "--per_device_train_batch_size 4",
            "swift sft --batch_size 4 --gradient_accumulation_steps 8",
            "swift sft --batch_size 2 --gradient_accumulation_steps 16",
        ),
        (
            "openrlhf",
            "--train.micro_batch_size 4",
            "deepspeed --module openrlhf.cli.train_sft --micro_train_batch_size 4 --zero_stage 3",
            "deepspeed --module openrlhf.cli.train_sft --micro_train_batch_size 2 --zero_stage 3",
        ),
    ],
)
def test_the_files_tell_the_release_that_a_fix_is_written_for(
    tmp_path: Path, framework: str, patch: str, before: str, after: str
) -> None:
    (path,) = write(tmp_path, run__sh=f"{before}\n")
    smaller = verdict(fix(framework, "cli", patch, "smaller_batch"))
    assert unhang.fix(path, smaller).after == f"{after}\n"


def test_a_class_that_a_file_would_name_is_not_written_into_a_program(tmp_path: Path) -> None:
    code = "import lightning as L\n\ntrainer = L.Trainer(devices=8, max_epochs=2)\n"
    (path,) = write(tmp_path, train__py=code)
    patch = "trainer = Trainer(strategy=FSDPStrategy(timeout=timedelta(seconds=7200)))"
    with pytest.raises(UsageError, match="is code: put the patch in place by hand"):
        unhang.fix(path, verdict(fix("lightning", "python", patch)))


def test_a_program_in_a_variable_may_take_a_flag(tmp_path: Path) -> None:
    (path,) = write(tmp_path, run__sh='torchrun --nnodes 2 $SCRIPT "${ARGS[@]}"\n')
    after = unhang.fix(path, verdict(fix("trl", "cli", "--ddp_timeout 7200"))).after
    assert after == 'torchrun --nnodes 2 $SCRIPT "${ARGS[@]}" --ddp_timeout 7200\n'


def test_a_program_is_not_read_out_of_another_word(tmp_path: Path) -> None:
    script = "torchrun train.py --overlap-comm 1\n"
    (path,) = write(tmp_path, run__sh=script)
    grow = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    assert unhang.fix(path, verdict(fix("torch", "env", grow))).after == f"{grow}\n{script}"


def test_deepspeeds_keys_in_a_yaml_that_holds_its_configuration(tmp_path: Path) -> None:
    text = (
        '{\n  "zero_optimization": {\n    "stage": 1\n  },\n'
        '  "train_micro_batch_size_per_gpu": 8,\n  "gradient_accumulation_steps": 2\n}\n'
    )
    (path,) = write(tmp_path, own__yml=text)
    patch = '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}'
    after = unhang.fix(path, verdict(fix("deepspeed", "json", patch, "smaller_batch"))).after
    assert after == text.replace("8,", "4,").replace('steps": 2', 'steps": 4')


WORDS = """\
kind: LeaderWorkerSet
spec:
  containers:
    - name: leader
      command:
        - python3
        - -m
        - sglang.launch_server
        - --tp
        - "2"  # of both
    - name: worker
      command: ["python3", "-m", "sglang.launch_server", "--dist-timeout=600"]
    - name: other
      command: [sleep, "1"]
"""


def test_words_of_a_containers_command_are_changed_in_every_container(tmp_path: Path) -> None:
    (path,) = write(tmp_path, lws__yaml=WORDS)
    longer = verdict(fix("sglang", "cli", "--dist-timeout 7200"))
    done = unhang.fix(path, longer)
    assert done.after == WORDS.replace(
        "# of both\n", '# of both\n        - --dist-timeout\n        - "7200"\n'
    ).replace("=600", "=7200")
    Path(path).write_text(done.after)
    assert not unhang.fix(path, longer).changed

    started_by_image = "command: [\n  --tp, '2']\nimage: lmsysorg/sglang:v1\n"
    Path(path).write_text(started_by_image)
    assert ', "--dist-timeout", "7200"]' in unhang.fix(path, longer).after
    fresh = WORDS.replace(', "--dist-timeout=600"', "")
    Path(path).write_text(fresh)
    assert '"sglang.launch_server", "--dist-timeout", "7200"]' in unhang.fix(path, longer).after


def test_a_lower_bound_is_shared_by_the_gpus_of_one_sequence(tmp_path: Path) -> None:
    actor = "actor_rollout_ref.actor"
    script = (
        f"python3 -m verl.trainer.main_ppo {actor}.use_dynamic_bsz=True data.max_prompt_length=2048"
        f" data.max_response_length=32768 {actor}.ppo_max_token_len_per_gpu=24000"
    )
    asked = fix("verl", "hydra", f"{actor}.ppo_max_token_len_per_gpu=9", "smaller_batch")
    paths = write(
        tmp_path, one__sh=script, two__sh=f"{script} {actor}.ulysses_sequence_parallel_size=2"
    )
    told = fix("verl", "hydra", f"{actor}.ppo_micro_batch_size_per_gpu=4", "smaller_batch")
    (path,) = write(tmp_path, three__sh="M=$1\npython3 -m verl.trainer.main_ppo data.x=1"
                    f" {actor}.ppo_micro_batch_size_per_gpu=${{M}}\n")  # fmt: skip
    with pytest.raises(UsageError, match=r"is \$\{M\}: change it where it is set"):
        unhang.fix(path, verdict(told))
    with pytest.raises(UsageError, match="cannot go below 34816"):
        unhang.fix(paths[0], verdict(asked))
    assert "ppo_max_token_len_per_gpu=18000" in unhang.fix(paths[1], verdict(asked)).after


def test_a_key_of_deepspeed_under_its_other_name(tmp_path: Path) -> None:
    text = json.dumps(
        {"zero_optimization": {"stage": 3, "gather_16bit_weights_on_model_save": True}}
    )
    patch = {"zero_optimization": {"stage3_gather_16bit_weights_on_model_save": False}}
    asked = fix("axolotl", "json", json.dumps(patch), "sharded_save")
    (path,) = write(tmp_path, ds__json=text)
    assert unhang.fix(path, verdict(asked)).after == text.replace("true", "false")


@pytest.mark.parametrize(
    ("resumes", "written"), [("null", False), ("None  # later", False), ("auto", True)]
)
def test_more_checkpoints_help_only_who_resumes(
    tmp_path: Path, resumes: str, written: bool
) -> None:
    text = f"trainer:\n  save_freq: 20\n  resume_from_path: {resumes}\n"
    (path,) = write(tmp_path, ppo__yaml=text)
    often = verdict(fix("verl", "hydra", "trainer.save_freq=10", "save_often"))
    if written:
        assert "save_freq: 5" in unhang.fix(path, often).after
        return
    with pytest.raises(UsageError, match="nothing would resume"):
        unhang.fix(path, often)


def test_the_last_save_is_not_made_beside_training(tmp_path: Path) -> None:
    text = "srun tune run full_finetune_distributed --config a.yaml epochs={n}\n"
    beside = verdict(fix("torchtune", "hydra", "enable_async_checkpointing=true", "async_save"))
    (path,) = write(tmp_path, job__sh=text.format(n=1))
    with pytest.raises(UsageError, match="the only save is the last one"):
        unhang.fix(path, beside)
    (path,) = write(tmp_path, job__sh=text.format(n=3))
    assert "enable_async_checkpointing=true" in unhang.fix(path, beside).after


def test_a_fork_keeps_what_every_release_has(tmp_path: Path) -> None:
    flags = " ".join(
        f"--{name} 1"
        for name in (
            *("train-data", "val-data", "batch-size", "warmup", "epochs", "lr", "precision"),
            *("workers", "model", "name", "report-to", "save-frequency"),
        )
    )
    rarely = verdict(
        fix("open_clip", "cli", "--val-frequency 0 --zeroshot-frequency 0", "eval_rarely")
    )
    (path,) = write(tmp_path, run__sh=f"torchrun -m training.main {flags} --my-loss 1\n")
    assert "--zeroshot-frequency 0" in unhang.fix(path, rarely).after
    (path,) = write(tmp_path, run__sh="torchrun -m training.main --lr 1 --my-loss 1\n")
    with pytest.raises(UsageError, match="does not know"):
        unhang.fix(path, rarely)


def test_the_trainer_sets_the_timeout_of_deepspeed(tmp_path: Path) -> None:
    patch = "export DEEPSPEED_TIMEOUT=90  # minutes"
    longer = verdict(fix("deepspeed", "env", patch))
    config = "output_dir: x\nper_device_train_batch_size: 4\n"
    paths = write(tmp_path, run__sh="torchrun t.py a.yaml --deepspeed=z.json\n", a__yaml=config)
    rewrite = unhang.fix(paths, longer)
    assert [f.after for f in rewrite.files if f.changed] == [f"{config}ddp_timeout: 5400\n"]
    paths = write(tmp_path, run__sh="deepspeed t.py --deepspeed --deepspeed_config z.json\n")
    assert "export DEEPSPEED_TIMEOUT=90\n" in unhang.fix(paths, longer).after


def test_a_variable_reaches_the_program_with_the_gpus(tmp_path: Path) -> None:
    name = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    allocator = verdict(fix("axolotl", "env", f"export {name}"))
    before = 'CUDA_VISIBLE_DEVICES="" python -m axolotl.cli.preprocess a.yml\n'
    (path,) = write(tmp_path, run__sh=before)
    with pytest.raises(UsageError, match="without a GPU"):
        unhang.fix(path, allocator)
    train = "accelerate launch -m axolotl.cli.train a.yml\n"
    (path,) = write(tmp_path, run__sh=before + train)
    assert unhang.fix(path, allocator).after == f"{before}export {name}\n{train}"


def test_a_folder_behind_an_option_starts_nothing(tmp_path: Path) -> None:
    patch = "per_device_train_batch_size: 4\ngradient_accumulation_steps: 2"
    smaller = verdict(fix("trl", "yaml", patch, "smaller_batch"))
    text = "accelerate launch t.py --lora /x/LLaMA-Factory/y --per_device_train_batch_size {}\n"
    (path,) = write(tmp_path, run__sh=text.format("4 --gradient_accumulation_steps 2"))
    after = unhang.fix(path, smaller).after
    assert after == text.format("2 --gradient_accumulation_steps 4")
