"""What an expert flags in a production manifest, and the tools around the lint."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import unhang
from unhang.reporters.lint import render_lint

ROOT = Path(__file__).parents[3]


def found(tmp_path: Path, text: str, name: str = "launch.sh") -> dict[str, str]:
    path = tmp_path / name
    path.write_text(text)
    report = unhang.lint(str(path), nccl="2.27.5", torch="2.9.1")
    return {f.setting: f.reason.key for f in report.findings}


@pytest.mark.parametrize(
    ("line", "setting", "topic"),
    [
        ("export NCCL_SOCKET_IFNAME=^docker0", "NCCL_SOCKET_IFNAME", "interface_keeps_lo"),
        ("export TORCH_DISTRIBUTED_DEBUG=DETAIL", "TORCH_DISTRIBUTED_DEBUG", "detail_left"),
        ("export CUDA_LAUNCH_BLOCKING=1", "CUDA_LAUNCH_BLOCKING", "launch_blocking_left"),
        ("torchrun --nnodes=8 --master_addr=localhost train.py", "--master_addr", "address_local"),
        (
            "torchrun --nnodes 4 --rdzv-endpoint=127.0.0.1:29500 train.py",
            "--rdzv-endpoint",
            "address_local",
        ),
        ("FI_PROVIDER=efa NCCL_PROTO=simple torchrun train.py", "NCCL_PROTO", "efa_forced"),
        (
            "FI_PROVIDER=efa NCCL_PROTO=simple NCCL_ALGO=ring torchrun train.py",
            "NCCL_PROTO",
            "efa_forced",
        ),
        ("export NCCL_DEBUG_SUBSYS=ALL NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS", "subsystems_all"),
        (
            "export TORCH_NCCL_AVOID_RECORD_STREAMS=1",
            "TORCH_NCCL_AVOID_RECORD_STREAMS",
            "record_streams_default",
        ),
    ],
)
def test_what_an_expert_flags(tmp_path: Path, line: str, setting: str, topic: str) -> None:
    assert found(tmp_path, f"{line}\n").get(setting) == f"advice.{topic}"


def test_a_name_that_nobody_reads(tmp_path: Path) -> None:
    assert "NCCL_NET_MAX_REQUESTS" in found(tmp_path, "export NCCL_NET_MAX_REQUESTS=64\n")


@pytest.mark.parametrize(
    "entry",
    [
        "env:\n- name: CUDA_LAUNCH_BLOCKING\n  value: '1'\n",
        "env:\n- {name: CUDA_LAUNCH_BLOCKING, value: '1'}\n",
        'env: [{name: NCCL_DEBUG, value: WARN}, {name: CUDA_LAUNCH_BLOCKING, value: "1"}]\n',
        "environment: {NCCL_DEBUG: WARN, CUDA_LAUNCH_BLOCKING: 1}\n",
        "args:\n- |\n  export CUDA_LAUNCH_BLOCKING=1\n  torchrun train.py\n",
        'args: ["CUDA_LAUNCH_BLOCKING=1 torchrun train.py"]\n',
    ],
)
def test_every_way_of_a_manifest_to_set_a_variable(tmp_path: Path, entry: str) -> None:
    assert "CUDA_LAUNCH_BLOCKING" in found(tmp_path, entry, "job.yaml")


@pytest.mark.parametrize(
    "line",
    [
        "export NCCL_SOCKET_IFNAME=^docker0,lo",
        "export NCCL_SOCKET_IFNAME=^lo,docker",
        "export NCCL_SOCKET_IFNAME=eth0",
        "export TORCH_DISTRIBUTED_DEBUG=OFF",
        "export CUDA_LAUNCH_BLOCKING=0",
        "torchrun --nnodes=1 --master_addr=localhost train.py",
        "torchrun --nnodes=4 --node-rank 0 --master-addr=127.0.0.1 train.py",
        "NNODES=2 NODE_RANK=0 MASTER_ADDR=127.0.0.1 swift sft --model m",
        "export NCCL_OFI_RDMA_STATIC=1",
        "export NCCL_HOME=/opt/nccl",
    ],
)
def test_what_is_right_is_left_alone(tmp_path: Path, line: str) -> None:
    assert found(tmp_path, f"{line}\n") == {}


def test_sarif_names_files_as_the_repository_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my jobs").mkdir()
    path = tmp_path / "my jobs" / "a.sh"
    path.write_text("export NCCL_TIMEOUT=3\n")
    monkeypatch.chdir(tmp_path)
    sarif = json.loads(render_lint(unhang.lint(str(path)), "sarif"))
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "my%20jobs/a.sh"


def run(command: list[str], folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": binaries, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


@pytest.mark.process
def test_the_hook_and_the_action_find_what_a_new_repository_holds(tmp_path: Path) -> None:
    (tmp_path / "launch.sh").write_text("export NCCL_TIMEOUT=3\ntorchrun train.py\n")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    hooked = run([*hook["entry"].split(), "launch.sh"], tmp_path)
    assert hooked.returncode == 1
    assert "NCCL_TIMEOUT" in hooked.stdout
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    install, lint = action["runs"]["steps"]
    assert "pip install" in install["run"]
    inputs = {name: row["default"] for name, row in action["inputs"].items()}
    given = {key: inputs[value.split(".")[1].split()[0]] for key, value in lint["env"].items()}
    acted = run(["bash", "-c", lint["run"]], tmp_path, **given)
    assert acted.returncode == 1
    assert acted.stdout.startswith("::warning file=launch.sh,line=1")
