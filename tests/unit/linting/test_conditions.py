"""Settings that others of the same job make void or forbid, and keys that a release refuses."""

import json
from pathlib import Path

import pytest

import unhang

BATCH = {
    "train_batch_size": 512,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 4,
    "zero_optimization": {"stage": 2},
}
VERL = "python3 -m verl.trainer.main_ppo trainer.save_freq=20"
ASYNC = "actor_rollout_ref.actor.checkpoint.async_save"


def found(folder: Path, framework: str | None = None, **texts: str) -> set[tuple[str, str]]:
    """The topic of each finding above a hint, with its setting."""
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text)
    report = unhang.lint(str(folder), framework=framework)
    return {
        (f.reason.key.removeprefix("advice."), f.setting.lstrip("-"))
        for f in report.findings
        if f.severity.value != "info"
    }


@pytest.mark.parametrize(
    ("framework", "text", "expected"),
    [
        (
            "axolotl==0.19.0",
            "base_model: m\nevals_per_epoch: 4\neval_steps: 200\n",
            {("key_refused", "evals_per_epoch")},
        ),
        ("axolotl==0.19.0", "base_model: m\nevals_per_epoch: 4\nsave_steps: 200\n", set()),
        (
            "transformers==5.23.0",
            "output_dir: o\noverwrite_output_dir: true\n",
            {("key_gone", "overwrite_output_dir")},
        ),
        ("transformers==4.46.3", "output_dir: o\noverwrite_output_dir: true\n", set()),
        (
            "transformers==5.23.0",
            "output_dir: o\nsave_strategy: epoch\nsave_steps: 100\n",
            {("key_ignored", "save_steps")},
        ),
        ("transformers==5.23.0", "output_dir: o\nsave_strategy: steps\nsave_steps: 9\n", set()),
    ],
)
def test_keys_of_one_file(
    tmp_path: Path, framework: str, text: str, expected: set[tuple[str, str]]
) -> None:
    assert found(tmp_path, framework, train__yaml=text) == expected


@pytest.mark.parametrize(("kept", "wrong"), [(1, True), (2, False), (0, False)])
def test_a_value_that_the_framework_refuses(tmp_path: Path, kept: int, wrong: bool) -> None:
    text = f'[model]\nname = "m"\n[training]\nsteps = 9\n[checkpoint]\nkeep_latest_k = {kept}\n'
    told = found(tmp_path, "torchtitan==0.1.0", a__toml=text)
    assert (("value_refused", "checkpoint.keep_latest_k") in told) is wrong


@pytest.mark.parametrize(
    ("flags", "near"),
    [
        ("--save-frequencey 2", {("key_near", "save-frequencey")}),
        ("--save-freq 2", set()),  # argparse takes the abbreviation
        ("--rdzv-endpoint a:1", set()),
        ("--my-own-flag 2", set()),
    ],
)
def test_a_flag_close_to_one_of_the_program(
    tmp_path: Path, flags: str, near: set[tuple[str, str]]
) -> None:
    text = f"torchrun -m open_clip_train.main --model m {flags}\n"
    assert found(tmp_path, "open_clip==3.3.0", a__sh=text) == near


def test_a_key_that_went_between_two_releases_that_were_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{TRAINING}num_generations: 8\nvllm_device: auto\n")
    (finding,) = unhang.lint(str(tmp_path), framework="trl==0.19.1").findings
    assert (finding.reason.key, finding.severity.value) == ("advice.key_went", "info")
    assert finding.reason.values["had"] == "0.15.2"


def test_what_works_with_one_engine_only(tmp_path: Path) -> None:
    assert found(tmp_path, "verl==0.9.1", a__sh=f"{VERL} {ASYNC}=True\n") == {("key_needs", ASYNC)}
    megatron = f"{VERL} {ASYNC}=True actor_rollout_ref.actor.strategy=megatron\n"
    assert found(tmp_path, "verl==0.9.1", a__sh=megatron) == set()
    assert found(tmp_path, "verl==0.9.1", a__sh=f"{VERL} {ASYNC}=False\n") == set()


def test_a_batch_that_no_number_of_ranks_makes(tmp_path: Path) -> None:
    wrong = json.dumps({**BATCH, "train_batch_size": 500})
    assert found(tmp_path, ds__json=wrong) == {("batch_product", "train_batch_size")}
    assert found(tmp_path, ds__json=json.dumps(BATCH)) == set()


@pytest.mark.parametrize(("slots", "wrong"), [(8, True), (16, False)])
def test_a_batch_that_the_launched_ranks_do_not_make(
    tmp_path: Path, slots: int, wrong: bool
) -> None:
    (tmp_path / "hostfile").write_text(f"# hosts\na slots={slots}\nb slots={slots}\n")
    launch = "deepspeed --hostfile hostfile train.py --deepspeed_config ds.json\n"
    told = found(tmp_path, run__sh=launch, ds__json=json.dumps(BATCH, indent=1))
    assert (("batch_world", "train_batch_size") in told) is wrong


def test_a_section_that_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    zero = {"stage": 2, "overlap_comm": True, "reduce_buket_size": 1}
    text = json.dumps({"zero_optimization": zero}, indent=1)
    assert found(tmp_path, ds__json=text) == {("key_unknown", "reduce_buket_size")}


@pytest.mark.parametrize(("value", "wrong"), [("180", True), ("1800", False)])
def test_a_heartbeat_that_is_a_limit(tmp_path: Path, value: str, wrong: bool) -> None:
    text = f"export TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC={value}\nsrun python pretrain.py\n"
    told = found(tmp_path, "nemo==2.4.0", job__sh=text)
    assert (("heartbeat_limit", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC") in told) is wrong


def test_a_guessed_release_is_said(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("output_dir: o\nper_device_train_batch_size: 1\nsave_safetensors: true\n")
    (finding,) = unhang.lint(str(path), framework="transformers").findings
    assert finding.reason.key == "advice.key_gone_guessed"
    assert finding.severity.value == "info"
    assert finding.reason.values["newest"] == "5.23.0"


TRAINING = "output_dir: o\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\n"
FSDP = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 8\n"


@pytest.mark.parametrize(
    ("framework", "name", "text", "expected"),
    [
        # A file that its framework reads whole: it stops at any other key.
        (
            "accelerate==1.10.1",
            "a__yaml",
            f"{FSDP}use_flash: true\n",
            {("key_unknown", "use_flash")},
        ),
        ("accelerate==1.10.1", "a__yaml", f"{FSDP}same_network: true\n", set()),
        (
            "lightning==2.5.6",
            "a__yaml",
            "trainer:\n  devices: 8\n  strategy: ddp\n  max_epochs: 5\n  tpu_cores: 8\n",
            {("key_unknown", "trainer.tpu_cores")},
        ),
        (
            "torchtitan==0.2.2",
            "a__toml",
            '[training]\nsteps = 9\nseq_len = 8\ncompile = true\n[job]\ndescription = "d"\n',
            {("key_lacking", "training.compile")},
        ),
        # The user's own module may declare more.
        (
            "torchtitan==0.2.2",
            "a__toml",
            '[training]\nsteps = 9\nseq_len = 8\nmine = 1\n[job]\ncustom_config_module = "m"\n',
            set(),
        ),
        # A file that may hold keys of the user's own script: only what the framework once took.
        ("trl==0.24.0", "a__yaml", f"{TRAINING}my_own: 1\n", set()),
        (
            "trl==0.24.0",
            "a__yaml",
            f"{TRAINING}max_seq_length: 9\n",
            {("key_lacking", "max_seq_length")},
        ),
        ("trl==0.15.2", "a__yaml", f"{TRAINING}max_seq_length: 9\n", set()),
        # Between two releases of which one has it, nobody knows.
        ("trl==0.19.0", "a__yaml", f"{TRAINING}max_seq_length: 9\n", set()),
        # Flags of a launcher are none of the file's keys.
        ("accelerate==1.10.1", "a__sh", "accelerate launch --config_file a.yaml t.py\n", set()),
        (
            "transformers==4.57.6",
            "a__json",
            '{"output_dir": "o", "eval_steps": 200, "save_steps": 500, "eval_strategy": "steps",'
            ' "load_best_model_at_end": true}',
            {("key_multiple", "save_steps")},
        ),
        (
            "transformers==4.57.6",
            "a__json",
            '{"output_dir": "o", "eval_steps": 200, "save_steps": 400, "eval_strategy": "steps",'
            ' "load_best_model_at_end": true}',
            set(),
        ),
        (
            None,
            "a__json",
            '{"fp16": {"enabled": true}, "bf16": {"enabled": true},'
            ' "zero_optimization": {"stage": 1}}',
            {("key_refused", "fp16.enabled")},
        ),
        (
            None,
            "a__json",
            '{"fp16": {"enabled": false}, "bf16": {"enabled": true},'
            ' "zero_optimization": {"stage": 1}}',
            set(),
        ),
    ],
)
def test_keys_that_a_release_does_not_take(
    tmp_path: Path,
    framework: str | None,
    name: str,
    text: str,
    expected: set[tuple[str, str]],
) -> None:
    assert found(tmp_path, framework, **{name: text}) == expected


def test_a_release_that_nobody_names_is_guessed_and_said(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{TRAINING}max_seq_length: 9\n")
    report = unhang.lint(str(tmp_path), framework="trl")
    assert [(f.reason.key, f.severity.value) for f in report.findings] == [
        ("advice.key_guessed", "info")
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trainer:\n  profiler: pytorch\n  devices: 4\n  profiler: null\n", {"profiler"}),
        ("tokens:\n  pad: x\ntokens:\n", {"tokens"}),
        ("a:\n  x: 1\nb:\n  x: 2\n", set()),
        ("a: &a\n  x: 1\nb:\n  <<: *a\n  x: 2\nc:\n  - x: 1\n  - x: 2\n", set()),
        ("x: 1\n---\nx: 2\n", set()),
    ],
)
def test_of_a_key_that_stands_twice_one_is_dropped(
    tmp_path: Path, text: str, expected: set[str]
) -> None:
    assert found(tmp_path, a__yaml=text) == {("key_twice", name) for name in expected}


def test_a_key_that_stands_twice_with_one_value_is_a_hint(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x: 1\nx: 1\n")
    (finding,) = unhang.lint(str(tmp_path)).findings
    assert (finding.severity.value, finding.where.line) == ("info", 2)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("accelerate launch --config_file zero_3.yaml t.py", {("near_file", "zero_3.yaml")}),
        ("accelerate launch --config_file zero_3.yml t.py", set()),
        ("# accelerate launch --config_file zero_3.yaml t.py", set()),
        ("cp base zero_3.yaml\naccelerate launch --config_file zero_3.yaml t.py", set()),
        ("accelerate launch --config_file other_3.yaml t.py", set()),
    ],
)
def test_a_file_of_nearly_the_same_name_is_another(
    tmp_path: Path, command: str, expected: set[tuple[str, str]]
) -> None:
    texts = {"run__sh": f"{command}\n", "zero_3__yml": "distributed_type: DEEPSPEED\n"}
    assert found(tmp_path, **texts) == expected
