"""Settings of one job that contradict each other, and configurations within others."""

import json
from pathlib import Path

import pytest

import unhang
from unhang.api import repair
from unhang.commands import cli
from unhang.model.lint import LintFinding, Severity
from unhang.reporters.lint import render_lint

TRAINING = "per_device_train_batch_size: 4\ngradient_accumulation_steps: 2\ndeepspeed: ds.json\n"
ZERO = {"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4}


def lint(folder: Path, *paths: str, **texts: str) -> tuple[LintFinding, ...]:
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text)
    chosen = [str(folder / path) for path in paths] or [str(folder)]
    return unhang.lint(*chosen, nccl="2.27.5", torch="2.9.1").findings


def found(folder: Path, *paths: str, **texts: str) -> list[tuple[str, str]]:
    return [(f.setting, f.reason.key) for f in lint(folder, *paths, **texts)]


@pytest.mark.parametrize("value", [4, "auto"])
def test_files_that_agree_are_left_alone(tmp_path: Path, value: object) -> None:
    zero = json.dumps({**ZERO, "train_micro_batch_size_per_gpu": value})
    assert found(tmp_path, sft__yaml=TRAINING, ds__json=zero) == []


def test_what_the_trainer_refuses_is_an_error(tmp_path: Path) -> None:
    zero = json.dumps({**ZERO, "gradient_accumulation_steps": 8})
    (perhaps,) = lint(tmp_path, sft__yaml=TRAINING, ds__json=zero)
    assert (perhaps.severity, perhaps.reason.key) == (Severity.WARNING, "advice.should_agree")
    (only,) = lint(tmp_path, run__sh="trl sft --config sft.yaml\n")
    assert (only.setting, only.code, only.severity) == (
        "gradient_accumulation_steps",
        "CFG119",
        Severity.ERROR,
    )
    assert only.where.line == 2


def test_a_script_ties_its_files_together(tmp_path: Path) -> None:
    accelerate = (
        "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  gradient_accumulation_steps: 4\n"
    )
    script = "accelerate launch --config_file $DIR/acc.yaml sft.py --config sft.yaml\n"
    files = {"acc__yaml": accelerate, "sft__yaml": TRAINING}
    assert found(tmp_path, **files) == []
    assert found(tmp_path, **files, run__sh=script) == [
        ("gradient_accumulation_steps", "advice.should_agree")
    ]


@pytest.mark.parametrize(("count", "wrong"), [(8, True), (16, False), (7, False)])
def test_the_processes_of_one_machine_are_not_those_of_all(
    tmp_path: Path, count: int, wrong: bool
) -> None:
    machines = "compute_environment: LOCAL_MACHINE\nnum_machines: 2\nnum_processes: 16\n"
    script = f"accelerate launch --config_file acc.yaml --num_processes {count} t.py\n"
    told = found(tmp_path, acc__yaml=machines, run__sh=script)
    assert (("--num_processes", "advice.machines_divide") in told) is wrong


def test_configurations_of_other_jobs_are_not_compared(tmp_path: Path) -> None:
    zero = json.dumps({**ZERO, "gradient_accumulation_steps": 8})
    assert found(tmp_path, sft__yaml=TRAINING.replace("ds.json", "z3.json"), ds__json=zero) == []


@pytest.mark.parametrize(
    ("program", "count"),
    [
        ("accelerate launch --config_file acc.yaml train.py", 0),
        ("trl sft --accelerate_config acc.yaml", 1),
    ],
)
def test_only_the_trainer_compares(tmp_path: Path, program: str, count: int) -> None:
    accelerate = (
        "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  gradient_accumulation_steps: 4\n"
    )
    flags = "--per_device_train_batch_size 4 --gradient_accumulation_steps 2"
    script = f"{program} {flags}\n"
    assert len(found(tmp_path, acc__yaml=accelerate, run__sh=script)) == count


def test_of_two_files_of_a_name_the_near_one_is_meant(tmp_path: Path) -> None:
    for name, steps in (("a", 2), ("b", 8)):
        (tmp_path / name).mkdir()
        text = json.dumps({**ZERO, "gradient_accumulation_steps": steps})
        (tmp_path / name / "ds.json").write_text(text)
        (tmp_path / name / "sft.yaml").write_text(TRAINING)
    (only,) = lint(tmp_path)
    assert only.where.artifact == str(tmp_path / "b/sft.yaml")


def test_a_variable_that_another_file_of_the_job_sets(tmp_path: Path) -> None:
    script = "source env.sh\nexport NCCL_SOCKET_IFNAME=eth0\ntorchrun train.py\n"
    assert found(tmp_path, run__sh=script, env__sh="export NCCL_SOCKET_IFNAME=ib0\n") == [
        ("NCCL_SOCKET_IFNAME", "advice.set_elsewhere")
    ]


def test_a_configuration_within_a_script_is_read_as_what_it_becomes(tmp_path: Path) -> None:
    script = (
        "cat > ds.json <<'EOF'\n"
        '{"zero_optimization": {"stage": 2},\n "gradient_accumulation_steps": 8}\n'
        "EOF\n"
        "cat <<EOF | tee env.yaml\nenv:\n  NCCL_ASYNC_ERROR_HANDLING: '1'\nEOF\n"
        "llamafactory-cli train sft.yaml\n"
    )
    findings = lint(tmp_path, sft__yaml=TRAINING, run__sh=script)
    told = {(f.setting, f.where.artifact.rpartition("/")[2], f.where.line) for f in findings}
    assert told == {
        ("gradient_accumulation_steps", "sft.yaml", 2),
        ("NCCL_ASYNC_ERROR_HANDLING", "run.sh", 7),
    }


@pytest.mark.parametrize(
    "args",
    [
        'args: ["torchrun", "--nnodes=4", "--master_addr", "localhost", "train.py"]',
        "args:\n  - torchrun\n  - --nnodes\n  - '4'\n  - --master_addr\n  - localhost\n  - x.py",
        "args:\n- torchrun\n- --nnodes=4\n- --master_addr=localhost\n- train.py",
    ],
)
def test_arguments_of_a_manifest_are_a_command_line(tmp_path: Path, args: str) -> None:
    manifest = f"kind: Job\nspec:\n  containers:\n  - {args.replace(chr(10), chr(10) + '    ')}\n"
    assert ("--master_addr", "advice.address_local") in found(tmp_path, pod__yaml=manifest)


SCRIPT = """\
export NCCL_BLOCKING_WAIT=0  # old
export NCCL_DEBUG=WARNING
export TORCH_NCCL_DUMP_ON_TIMEOUT=on
export NCCL_MIN_NRINGS=4
export NCCL_IB_MTU=4096
torchrun train.py
"""
FIXED = """\
export TORCH_NCCL_BLOCKING_WAIT=0  # old
export NCCL_DEBUG=WARN
export TORCH_NCCL_DUMP_ON_TIMEOUT=1
export NCCL_MIN_CTAS=4
export NCCL_IB_MTU=4096
torchrun train.py
"""


def run(*words: str) -> int:
    try:
        return int(cli.main(list(words), standalone_mode=False) or 0)
    except SystemExit as end:
        return int(end.code or 0)


def test_fix_writes_what_is_mechanical(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.sh"
    path.write_text(SCRIPT)
    run("lint", str(path), "--diff", "--nccl", "2.27.5", "--torch", "2.9.1")
    assert "+export NCCL_DEBUG=WARN\n" in capsys.readouterr().out
    assert path.read_text() == SCRIPT
    run("lint", str(path), "--fix", "--nccl", "2.27.5", "--torch", "2.9.1")
    assert path.read_text() == FIXED
    told = capsys.readouterr()
    assert "NCCL_IB_MTU" in told.out
    assert "NCCL_DEBUG" not in told.out
    assert "run.sh is repaired" in told.err
    assert [p.name for p in tmp_path.iterdir()] == ["run.sh"]


@pytest.mark.parametrize(
    "text",
    [
        "export NCCL_BLOCKING_WAIT=1 TORCH_NCCL_BLOCKING_WAIT=0\ntorchrun train.py\n",
        "export NCCL_DEBUG=NOISY\ntorchrun train.py\n",
        "export NCCL_ASYNC_ERROR_HANDLING=0\ntorchrun train.py\n",
    ],
)
def test_what_could_mean_something_else_is_left_to_its_author(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.sh"
    path.write_text(text)
    assert unhang.lint(str(path), nccl="2.27.5", torch="2.9.1").findings
    assert repair(str(path), nccl="2.27.5", torch="2.9.1", write=True) == ()
    assert path.read_text() == text


def test_addresses_of_sarif_are_relative_to_the_folder_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repo/sub").mkdir(parents=True)
    for path in ("repo/sub/a b.sh", "outside.sh"):
        (tmp_path / path).write_text("export NCCL_DEBUG=WARNING\n")
    monkeypatch.chdir(tmp_path / "repo")
    paths = ("./sub/a b.sh", str(tmp_path / "repo/sub/a b.sh"), "../outside.sh")
    places = []
    for path in paths:
        sarif = json.loads(render_lint(unhang.lint(path), "sarif"))
        location = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        places.append(location["artifactLocation"])
    here = {"uri": "sub/a%20b.sh", "uriBaseId": "%SRCROOT%"}
    assert places == [here, here, {"uri": (tmp_path / "outside.sh").as_uri()}]


ACCELERATED = "compute_environment: LOCAL_MACHINE\nnum_machines: 1\nnum_processes: {n}\n"


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (4, [("num_processes", "advice.processes_many")]),
        (3, []),
        (2, [("num_processes", "advice.processes_few")]),
    ],
)
def test_processes_against_visible_gpus(
    tmp_path: Path, count: int, expected: list[tuple[str, str]]
) -> None:
    # The folder of the configuration is not here; the name is enough where one file has it.
    script = "CUDA_VISIBLE_DEVICES=1,2,5 accelerate launch --config_file /etc/jobs/acc.yaml t.py\n"
    texts = {"run__sh": script, "acc__yaml": ACCELERATED.format(n=count)}
    assert found(tmp_path, **texts) == expected


def test_processes_against_the_gpus_of_a_batch_job(tmp_path: Path) -> None:
    text = "#SBATCH --gres=gpu:{gpus}\n#SBATCH --mem=0\nsrun torchrun --nproc_per_node 4 t.py\n"
    assert found(tmp_path, job__sh=text.format(gpus=2)) == [
        ("--nproc_per_node", "advice.processes_many")
    ]
    # Nobody wrote down which of them to use.
    assert found(tmp_path, job__sh=text.format(gpus=8)) == []
    assert found(tmp_path, job__sh=text.replace("#SBATCH --gres=gpu:{gpus}", "#SBATCH -N 1")) == []


NODE = """\
NNODES=2 NODE_RANK={rank} MASTER_ADDR={address} \\
swift sft --model m --output_dir o
"""


def test_the_nodes_of_a_job_name_one_address(tmp_path: Path) -> None:
    one = NODE.format(rank=0, address="127.0.0.1")
    two = NODE.format(rank=1, address="10.1.1.4")
    assert ("MASTER_ADDR", "advice.node_differs") in found(tmp_path, a__sh=one, b__sh=two)
    same = NODE.format(rank=1, address="127.0.0.1")
    assert found(tmp_path, a__sh=one, b__sh=same) == []


BATCH = "#!/bin/bash\n#SBATCH --nodes=2\n{line}\nsrun python t.py\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("if [ $COUNT -le 4 ]; then TP=4; fi", [("COUNT", "advice.never_set")]),
        ("COUNT=3\nif [ $COUNT -le 4 ]; then TP=4; fi", []),
        (': "${COUNT:=3}"\nif [ $COUNT -le 4 ]; then TP=4; fi', []),
        ("source env.sh\nif [ $COUNT -le 4 ]; then TP=4; fi", []),
        ("if [ $SLURM_NNODES -le 4 ]; then TP=4; fi", []),
        ("export MASTER_ADDR=$(hostname -i)", [("MASTER_ADDR", "advice.own_address")]),
        ("export MASTER_ADDR=$(hostname)", []),
    ],
)
def test_what_a_batch_script_takes_for_granted(
    tmp_path: Path, line: str, expected: list[tuple[str, str]]
) -> None:
    assert found(tmp_path, job__sh=BATCH.format(line=line)) == expected


def test_a_scheduler_below_the_trainer(tmp_path: Path) -> None:
    script = "deepspeed train.py --deepspeed /data/conf/ds.json --lr_scheduler_type {name}\n"
    zero = json.dumps({**ZERO, "scheduler": {"type": "WarmupDecayLR", "params": {}}})
    told = ("--lr_scheduler_type", "advice.key_ignored")
    assert told in found(tmp_path, run__sh=script.format(name="cosine"), ds__json=zero)
    assert told not in found(tmp_path, run__sh=script.format(name="linear"), ds__json=zero)


def test_keys_that_accelerate_passes_over_in_silence(tmp_path: Path) -> None:
    text = "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  zero_stage: 3\n"
    assert found(tmp_path, acc__yaml=text) == []
    text += "  zero_optimization:\n    stage: 3\n"
    assert found(tmp_path, acc__yaml=text) == [("zero_optimization", "advice.key_unread")]


@pytest.mark.parametrize(("nodes", "slow"), [(1, False), (2, True)])
def test_the_network_is_no_matter_on_one_node(tmp_path: Path, nodes: int, slow: bool) -> None:
    text = f"#SBATCH --nodes={nodes}\nexport NCCL_IB_DISABLE=1\nsrun python t.py\n"
    told = ("NCCL_IB_DISABLE", "advice.slow_path")
    assert (told in found(tmp_path, job__sh=text)) is slow
