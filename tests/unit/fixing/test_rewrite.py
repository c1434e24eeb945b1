"""A verdict's fix goes into the file that reads it, and into no other."""

import ast
import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

import unhang
from unhang.errors import UsageError
from unhang.model.diagnosis import Diagnosis, Fix, FixKind, Outcome
from unhang.model.provenance import Message
from unhang.reporters import render
from unhang.reporters.fix import render_fix, render_notes
from unhang.settings import frameworks, timeout_knobs

SCRIPTS = Path(__file__).parents[1] / "linting" / "scripts"
NOTHING = Message(key="fix.verbatim", values={"text": ""})


def fix(framework: str, where: str, patch: str, remedy: str = "") -> Fix:
    return Fix(
        title=Message(key="fix.verbatim", values={"text": f"set {framework}"}),
        kind=FixKind.CURE,
        framework=framework,
        where=where,
        patch=patch,
        reaches="default_pg",
        risk=NOTHING,
        verify=NOTHING,
        remedy=remedy,
    )


def verdict(*fixes: Fix) -> Diagnosis:
    return Diagnosis(outcome=Outcome.CAUSE, summary=NOTHING, fixes=fixes)


TRL = fix("trl", "yaml", "ddp_timeout: 7200")
ZERO = fix("trl", "yaml", "deepspeed_config:\n  zero3_save_16bit_model: false")
FSDP = fix("trl", "yaml", "fsdp_config:\n  fsdp_state_dict_type: SHARDED_STATE_DICT")
GATHER = fix(
    "llama-factory",
    "json",
    '{"zero_optimization": {"stage3_gather_16bit_weights_on_model_save": false}}',
)
PYTHON = fix("torch", "python", "import torch\n\ndist.barrier()\nx = 1\n")
DDP = fix(
    "lightning",
    "python",
    "from datetime import timedelta\n\nfrom lightning.pytorch import Trainer\n\n"
    "trainer = Trainer(strategy=DDPStrategy(timeout=timedelta(seconds=9000)))",
)
VARIABLE = fix("trl", "env", "export NCCL_NVLS_ENABLE=0")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def edited(name: str, *fixes: Fix) -> list[str]:
    """The lines that go and come in one of the shipped files."""
    rewrite = unhang.fix(str(SCRIPTS / name), verdict(*fixes))
    lines = render_fix(rewrite, "diff").split("\n")[2:]
    return [line for line in lines if line[:1] in "+-"]


@pytest.mark.parametrize(
    ("name", "change", "lines"),
    [
        ("open_r1_config.yaml", TRL, ["+ddp_timeout: 7200"]),
        (
            "axolotl_fsdp.yaml",
            fix("axolotl", "yaml", "ddp_timeout: 9000"),
            ["-ddp_timeout: 7200", "+ddp_timeout: 9000"],
        ),
        (
            "axolotl_fsdp.yaml",
            fix("axolotl", "yaml", "fsdp_config:\n  cpu_ram_efficient_loading: true"),
            None,
        ),
        (
            "accelerate_zero3.yaml",
            ZERO,
            ["-  zero3_save_16bit_model: true", "+  zero3_save_16bit_model: false"],
        ),
        (
            "torchtune_full.yaml",
            fix("torchtune", "hydra", "batch_size=1 gradient_accumulation_steps=2"),
            [
                "-batch_size: 2",
                "+batch_size: 1",
                "-gradient_accumulation_steps: 1",
                "+gradient_accumulation_steps: 2",
            ],
        ),
        (
            "lightning_cli.yaml",
            DDP,
            ["-      timeout: '2:00:00'", '+      timeout: "2:30:00"'],
        ),
        ("deepspeed_config.json", GATHER, None),
        (
            "verl_grpo_fsdp.sh",
            fix("verl", "hydra", "trainer.save_freq=50", "save_rarely"),
            ["-    trainer.save_freq=20 \\", "+    trainer.save_freq=80 \\"],
        ),
        (
            "megatron_gpt_175b.sh",
            fix("megatron", "cli", "--distributed-timeout-minutes 90"),
            None,
        ),
        ("ms_swift_sft.sh", fix("ms-swift", "cli", "--save_only_model true"), None),
        ("open_clip_slurm.sbatch", fix("open_clip", "cli", "--val-frequency 5"), None),
        ("kubeflow_pytorchjob.yaml", VARIABLE, None),
        ("compose.yaml", VARIABLE, None),
        ("skypilot.yaml", VARIABLE, None),
        (".deepspeed_env", VARIABLE, ["+NCCL_NVLS_ENABLE=0"]),
        ("nccl.conf", VARIABLE, ["+NCCL_NVLS_ENABLE=0"]),
        ("Dockerfile", VARIABLE, None),
        ("recbole_run.sh", fix("recbole", "env", "export NCCL_DEBUG=TRACE"), None),
        ("llama_factory_torchrun.sh", fix("llama-factory", "yaml", "save_only_model: true"), None),
    ],
)
def test_files_as_frameworks_ship_them(name: str, change: Fix, lines: list[str] | None) -> None:
    came = edited(name, change)
    assert 1 <= len(came) <= 4
    if lines is not None:
        assert came == lines


def test_a_second_spelling_of_a_key_is_not_written_beside_the_first() -> None:
    change = fix("axolotl", "yaml", "fsdp_config:\n  state_dict_type: SHARDED_STATE_DICT")
    assert edited("axolotl_fsdp.yaml", change) == [
        "-  fsdp_state_dict_type: FULL_STATE_DICT",
        "+  fsdp_state_dict_type: SHARDED_STATE_DICT",
    ]


RECBOLE = "# data\nUSER_ID_FIELD: user_id\neval_args:\n  mode: full  # slow\n  order: RO\n"
TITAN = "[comm]\ninit_timeout_seconds = 300\n"


@pytest.mark.parametrize(
    ("name", "text", "change", "after"),
    [
        (
            "run.yaml",
            RECBOLE,
            fix("recbole", "yaml", "eval_args:\n  mode: uni100"),
            RECBOLE.replace("full", "uni100"),
        ),
        (
            "titan.toml",
            TITAN,
            fix("torchtitan", "cli", "--comm.train_timeout_seconds 600"),
            f"{TITAN}train_timeout_seconds = 600\n",
        ),
        (
            "args.yaml",
            "output_dir: x\n",
            fix(
                "transformers",
                "python",
                "args = TrainingArguments(\n    output_dir=output_dir,\n    ddp_timeout=7200,\n)",
            ),
            "output_dir: x\nddp_timeout: 7200\n",
        ),
        (
            "lf.sh",
            "llamafactory-cli train a.yaml\n",
            fix("llama-factory", "yaml", "ddp_timeout: 7200"),
            "llamafactory-cli train a.yaml ddp_timeout=7200\n",
        ),
        (
            "ds.sh",
            "deepspeed --hostfile hosts train.py\n",
            fix(
                "deepspeed",
                "env",
                "export DEEPSPEED_TIMEOUT=60  # minutes\n"
                'echo "DEEPSPEED_TIMEOUT=60" >> ~/.deepspeed_env  # several nodes',
            ),
            "export DEEPSPEED_TIMEOUT=60\n"
            'echo "DEEPSPEED_TIMEOUT=60" >> ~/.deepspeed_env  # several nodes\n'
            "deepspeed --hostfile hosts train.py\n",
        ),
        (
            "ds.sh",
            "deepspeed --num_gpus 8 train.py\n",
            fix(
                "deepspeed",
                "env",
                "export DEEPSPEED_TIMEOUT=60\n"
                'echo "DEEPSPEED_TIMEOUT=60" >> ~/.deepspeed_env  # several nodes',
            ),
            "export DEEPSPEED_TIMEOUT=60\ndeepspeed --num_gpus 8 train.py\n",
        ),
    ],
)
def test_files_that_people_write(
    tmp_path: Path, name: str, text: str, change: Fix, after: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert unhang.fix(str(path), verdict(change)).after == after


@pytest.mark.parametrize(
    ("name", "text", "change", "message"),
    [
        # The timeout belongs to the script, never to accelerate's own file.
        ("a.yaml", "compute_environment: LOCAL\nnum_processes: 8\n", TRL, "does not pass"),
        ("a.yaml", "output_dir: x\n", ZERO, "accelerate launch --config_file"),
        ("a.yaml", "distributed_type: FSDP\nmachine_rank: 0\n", ZERO, "not sharded in this way"),
        (
            "a.yaml",
            "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: z.json\n",
            ZERO,
            "z.json",
        ),
        (
            "a.yaml",
            "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\n",
            ZERO,
            "stage 3 only",
        ),
        ("a.json", '{"zero_optimization": {"stage": 2}}', GATHER, "stage 3 only"),
        ("a.json", '{"zero_optimization": {"stage": 3}}', TRL, "has no `ddp_timeout`"),
        ("a.json", '{"name": "x"}', GATHER, "does not look like"),
        ("a.yaml", "color: red\n", TRL, "does not look like"),
        ("a.yaml", "apiVersion: v1\nkind: Job\n", TRL, "starts containers"),
        ("a.yaml", "output_dir: x\n", VARIABLE, "export it in the script"),
        ("a.yaml", "output_dir: x\n", GATHER, "DeepSpeed's JSON"),
        ("a.py", "x = 1\n", TRL, "is code"),
        ("a.toml", "[x]\n", TRL, "does not read TOML"),
        ("a.sh", "torchrun x.py\n", ZERO, "accelerate launch --config_file"),
        ("a.sh", "torchrun x.py\n", PYTHON, "it is Python"),
        ("nccl.conf", "", fix("trl", "env", "export TORCH_X=0"), "read by NCCL only"),
        (".env", "", fix("trl", "env", "export A_B=$(hostname)"), "is a command"),
        (
            "pl.yaml",
            "trainer:\n  strategy: ddp\nmodel: {}\n",
            DDP,
            "without arguments",
        ),
        (
            "pl.yaml",
            "trainer:\n  strategy:\n    class_path: lightning.pytorch.strategies.FSDPStrategy\n",
            DDP,
            "this fix is for DDPStrategy",
        ),
        # Another framework's file does not know it.
        ("a.sh", "python3 -m verl.trainer.main_ppo\n", TRL, "starts verl.*--framework verl"),
        ("a.yaml", "base_model: x\noutput_dir: y\n", TRL, "axolotl's"),
        ("a.yaml", "output_dir: y\nmodel:\n  _component_: z\n", TRL, "torchtune's"),
        ("a.yaml", "output_dir: y\nfinetuning_type: full\n", TRL, "llama-factory's"),
        # A longer timeout that is there already was not in force: a lower one is no cure.
        ("a.yaml", "output_dir: x\nddp_timeout: 180000000\n", TRL, "not in force"),
        ("a.sh", "trl sft --ddp_timeout 9000\n", TRL, "not in force"),
        (
            "pl.yaml",
            "trainer:\n  strategy:\n    class_path: x.DDPStrategy\n    init_args:\n"
            "      timeout: '9:00:00'\n",
            DDP,
            "not in force",
        ),
        ("a.yaml", "a: [\n", TRL, "does not parse: line"),
        ("a.json", "{", GATHER, "does not parse: line"),
    ],
)
def test_a_file_that_does_not_read_it_is_refused(
    tmp_path: Path, name: str, text: str, change: Fix, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        unhang.fix(str(path), verdict(change), fixes=[1], apply=True)
    assert path.read_text() == text
    assert names(tmp_path) == [name]


def test_what_is_refused_is_shown_for_doing_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "train.sh"
    path.write_text("torchrun x.py\n")
    with pytest.raises(UsageError, match=r"By hand:\n    import torch\n"):
        unhang.fix(str(path), verdict(PYTHON), fixes=[1])


def test_the_best_fix_that_fits_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("output_dir: x\n")
    rewrite = unhang.fix(str(path), verdict(PYTHON, ZERO, TRL, TRL))
    assert [number for number, _ in rewrite.written] == [3]
    assert [(p.number, p.reason[:12]) for p in rewrite.passed] == [
        (1, "it is Python"),
        (2, "`deepspeed_c"),
    ]
    notes = render_notes(rewrite)
    assert "Fix 3: Set trl (reaches default_pg)" in notes
    assert "is unchanged; --apply" in notes
    with pytest.raises(UsageError, match=r"any fix of the verdict.*fix 1.*fix 2"):
        unhang.fix(str(path), verdict(PYTHON, ZERO))


def test_several_fixes_are_written_together(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("output_dir: x\n")
    more = fix("trl", "yaml", "save_only_model: true\nsave_total_limit: 2")
    rewrite = unhang.fix(str(path), verdict(TRL, more), fixes=[2, 1, 2])
    assert rewrite.after == (
        "output_dir: x\nsave_only_model: true\nsave_total_limit: 2\nddp_timeout: 7200\n"
    )
    with pytest.raises(UsageError, match="no fix 3; the verdict has 2"):
        unhang.fix(str(path), verdict(TRL, more), fixes=[3])


def test_a_file_that_has_it_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("ddp_timeout: 7200\n")
    rewrite = unhang.fix(str(path), verdict(TRL), apply=True)
    assert not rewrite.changed
    assert rewrite.backup is None
    assert "already" in render_notes(rewrite)
    assert render_fix(rewrite, "diff") == ""


def test_apply_keeps_a_copy_and_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("output_dir: x\n")
    path.chmod(0o640)
    for number, seconds in enumerate((7200, 9000)):
        before = path.read_text()
        change = fix("trl", "yaml", f"ddp_timeout: {seconds}")
        rewrite = unhang.fix(str(path), verdict(change), apply=True)
        assert rewrite.backup == f"{path}.bak" + (f".{number}" if number else "")
        assert Path(rewrite.backup).read_text() == before
        assert path.read_text() == rewrite.after
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["train.yaml", "train.yaml.bak", "train.yaml.bak.1"]


def test_a_link_within_its_folder_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("output_dir: x\n")
    link = tmp_path / "train.yaml"
    link.symlink_to("real.yaml")
    unhang.fix(str(link), verdict(TRL), apply=True)
    assert link.is_symlink()
    assert "ddp_timeout" in (tmp_path / "real.yaml").read_text()


def test_a_link_to_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("output_dir: x\n")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.yaml").symlink_to("../real.yaml")
    with pytest.raises(UsageError, match="outside of its folder"):
        unhang.fix(str(folder / "train.yaml"), verdict(TRL), apply=True)
    assert (tmp_path / "real.yaml").read_text() == "output_dir: x\n"


def test_a_backup_is_never_written_through_a_link(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (tmp_path / "train.yaml").write_text("output_dir: x\n")
    (tmp_path / "train.yaml.bak").symlink_to(other)
    rewrite = unhang.fix(str(tmp_path / "train.yaml"), verdict(TRL), apply=True)
    assert rewrite.backup is not None
    assert rewrite.backup.endswith(".bak.1")
    assert not other.exists()


def test_a_file_with_other_names_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("output_dir: x\n")
    os.link(path, tmp_path / "same")
    with pytest.raises(UsageError, match="hard links"):
        unhang.fix(str(path), verdict(TRL), apply=True)
    assert names(tmp_path) == ["same", "train.yaml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("output_dir: x\n")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UsageError, match="as it was"):
            unhang.fix(str(path), verdict(TRL), apply=True)
    finally:
        tmp_path.chmod(0o700)
    assert path.read_text() == "output_dir: x\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.yaml", b"a: \xff\n", "UTF-8"),
        ("a.bin", b"x", "not of a known kind"),
        ("a.yaml", b"a: 1\n" * 300_000, "too large"),
    ],
)
def test_files_that_are_no_configurations(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        unhang.fix(str(path), verdict(TRL))


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        unhang.fix(str(tmp_path), verdict(TRL))
    with pytest.raises(UsageError, match="cannot read"):
        unhang.fix(str(tmp_path / "x.yaml"), verdict(TRL))


@pytest.mark.process
def test_the_difference_is_one_that_patch_takes(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("output_dir: x\nseed: 1")  # no line end
    rewrite = unhang.fix(str(path), verdict(TRL))
    text = render_fix(rewrite, "diff") + "\n"
    subprocess.run(["patch", "-p0", str(path)], input=text, text=True, check=True)
    assert path.read_text() == rewrite.after


def test_the_json_of_a_verdict_is_a_verdict(tmp_path: Path) -> None:
    judged = verdict(PYTHON, TRL)
    (tmp_path / "verdict.json").write_text(render(judged, "json"))
    (tmp_path / "train.yaml").write_text("output_dir: x\n")
    by_file = unhang.fix(str(tmp_path / "train.yaml"), tmp_path / "verdict.json")
    by_object = unhang.fix(str(tmp_path / "train.yaml"), judged)
    assert by_file.after == by_object.after != by_file.before
    assert render_notes(by_file) == render_notes(by_object)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ROOT CAUSE", "not JSON"),
        ("[]", "not a verdict of unhang"),
        ('{"schema": "unhang.lint/1"}', "not a verdict of unhang"),
        ('{"schema": "unhang.diagnosis/1"}', "without its list of fixes"),
        ('{"schema": "unhang.diagnosis/1", "fixes": []}', "proposes no fix"),
        ('{"schema": "unhang.diagnosis/1", "fixes": [1]}', "fix 1 lacks title"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_verdict_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v.json").write_text(text)
    (tmp_path / "train.yaml").write_text("output_dir: x\n")
    with pytest.raises(UsageError, match=message):
        unhang.fix(str(tmp_path / "train.yaml"), tmp_path / "v.json")


def test_json_holds_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("output_dir: x\n")
    value = json.loads(render_fix(unhang.fix(str(path), verdict(PYTHON, TRL)), "json"))
    assert value["schema"] == "unhang.fix/1"
    assert (value["changed"], value["applied"], value["backup"]) == (True, False, None)
    assert [fix["number"] for fix in value["fixes"]] == [2]
    assert [fix["number"] for fix in value["passed"]] == [1]
    assert value["diff"].endswith("+ddp_timeout: 7200")


def test_a_terminal_gets_no_escapes(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("output_dir: x  # \u202e\n")
    rewrite = unhang.fix(str(path), verdict(TRL))
    shown = render_fix(rewrite, "diff", exact=False)
    assert "\u202e" not in shown
    assert "\u202e" in render_fix(rewrite, "diff")


@pytest.mark.parametrize("framework", sorted(f.name for f in frameworks().values() if f.recipes))
def test_python_of_every_framework_parses_or_is_left_to_people(framework: str) -> None:
    from unhang.fixing.refusal import Refusal
    from unhang.fixing.requested_settings import read_requested_settings

    for recipes in frameworks()[framework].recipes.values():
        for recipe in recipes:
            if recipe.text and recipe.form == "python":
                ast.parse(recipe.text)
                try:
                    requests = read_requested_settings(fix(framework, "python", recipe.text))
                except Refusal:
                    continue
                assert all(w.path[0] == "trainer" or len(w.path) == 1 for w in requests)


CLIP = "torchrun --nnodes 2 --nproc_per_node 8 -m open_clip_train.main \\\n  --workers 1"
SHARDS = "--train-data '/data/{00000..00047}.tar' --dataset-type webdataset"


@pytest.mark.parametrize(
    ("arguments", "workers"),
    [
        (SHARDS, "3"),  # 48 shards, 16 ranks
        (f"{SHARDS} --dataset-resampled", "4"),
        ("--train-data a.csv --dataset-type csv", "4"),
    ],
)
def test_every_loader_process_finds_a_shard(tmp_path: Path, arguments: str, workers: str) -> None:
    script = tmp_path / "train.sh"
    script.write_text(f"{CLIP} {arguments}\n")
    change = fix("open_clip", "cli", "--workers 4", "faster_data")
    assert unhang.fix([str(script)], verdict(change)).after == (
        f"{CLIP[:-1]}{workers} {arguments}\n"
    )


def test_shards_for_nobody_knows_how_many_ranks_are_left_alone(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(f"srun python -m open_clip_train.main --workers 1 {SHARDS}\n")
    with pytest.raises(UsageError, match="unknown number of ranks"):
        unhang.fix([str(script)], verdict(fix("open_clip", "cli", "--workers 4", "faster_data")))


def test_the_last_epoch_is_evaluated_however_rarely_so_evaluation_leaves(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    text = "torchrun -m open_clip_train.main --epochs 2 --val-frequency 1 --zeroshot-frequency 0\n"
    script.write_text(text)
    patch = "--val-frequency 0 --zeroshot-frequency 0"
    change = fix("open_clip", "cli", patch, "eval_rarely")
    assert unhang.fix([str(script)], verdict(change)).after == text.replace("1 --z", "0 --z")


def test_settings_that_need_each_other_change_together(tmp_path: Path) -> None:
    config = tmp_path / "fsdp.yaml"
    head = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n"
    keys = "  fsdp_cpu_ram_efficient_loading: {0}\n  fsdp_sync_module_states: {0}\n"
    config.write_text(head + keys.format("false"))
    patch = "fsdp_config:\n" + keys.format("true").rstrip()
    change = fix("accelerate", "yaml", patch, "lean_load")
    assert unhang.fix([str(config)], verdict(change)).after == head + keys.format("true")


def test_the_group_of_ray_waits_longer(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    text = "t = TorchTrainer(f, torch_config=TorchConfig(backend='nccl', timeout_s=900))\n"
    program.write_text(text)
    patch = next(knob.write(3600) for knob in timeout_knobs("ray-train", None) if knob.code)
    change = fix("ray-train", "python", patch)
    assert unhang.fix([str(program)], verdict(change)).after == text.replace("900", "3600")


def test_a_model_that_loads_its_data_elsewhere_is_changed_there(tmp_path: Path) -> None:
    config = tmp_path / "asr.yaml"
    config.write_text("model:\n  train_ds:\n    num_workers: 0\ntrainer:\n  devices: 8\n")
    fixes = [
        fix("nemo", "hydra", f"{key}.num_workers=4", "faster_data")
        for key in ("data", "model.train_ds")
    ]
    after = unhang.fix([str(config)], verdict(*fixes)).after
    assert "num_workers: 4\n" in after
