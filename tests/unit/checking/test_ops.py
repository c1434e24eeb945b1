"""The examples for schedulers: their shell runs, their manifest is what Kubernetes takes."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

OPS = Path(__file__).resolve().parents[3] / "ops"


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.process
@pytest.mark.parametrize(("code", "ends", "drained"), [(0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 0, 0)])
def test_the_prolog_of_slurm(code: int, ends: int, drained: int, tmp_path: Path) -> None:
    unhang = program(tmp_path, "unhang", f'echo "CHECK said | $*"; exit {code}')
    program(tmp_path, "scontrol", f'echo "$*" >> {tmp_path}/drained')
    environment = {**os.environ, "UNHANG": str(unhang), "SLURMD_NODENAME": "gpu7",
                   "PATH": f"{tmp_path}:{os.environ['PATH']}"}  # fmt: skip
    ran = subprocess.run(["sh", str(OPS / "slurm" / "prolog.sh")], env=environment,
                         capture_output=True, text=True, check=False)  # fmt: skip
    assert ran.returncode == ends
    assert ran.stdout.startswith("CHECK said | check --alone --nagios --no-measure")
    told = tmp_path / "drained"
    lines = told.read_text().splitlines() if told.exists() else []
    assert len(lines) == drained
    assert all("nodename=gpu7 state=drain reason=CHECK said" in line for line in lines)


@pytest.mark.process
@pytest.mark.parametrize(
    ("code", "bad", "started"),
    [
        (0, "", ["python train.py"]),
        (2, "gpu3", ["--exclude=gpu3 --nodes=3 python train.py"]),
        (2, "", []),
    ],
)
def test_the_job_of_slurm(code: int, bad: str, started: list[str], tmp_path: Path) -> None:
    listed = f"printf '{bad}\\n' > bad-hosts.5" if bad else ": > bad-hosts.5"
    start = 'echo "$*" >> started'
    program(tmp_path, "srun", f'case "$1" in unhang) {listed}; exit {code};; *) {start};; esac')
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "5",
                   "SLURM_JOB_NUM_NODES": "4"}  # fmt: skip
    subprocess.run(
        ["sh", str(OPS / "slurm" / "job.sh")], cwd=tmp_path, env=environment, check=False
    )
    told = tmp_path / "started"
    assert (told.read_text().splitlines() if told.exists() else []) == started


def test_the_manifest() -> None:
    job = yaml.safe_load((OPS / "kubernetes" / "check-init-container.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    pod = job["spec"]["template"]["spec"]
    assert pod["restartPolicy"] in ("Never", "OnFailure")
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in (*pod["initContainers"], *pod["containers"]):
        assert {"name", "image", "command"} <= container.keys()
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
        assert all(isinstance(one["value"], str) for one in container.get("env", ()))


@pytest.mark.process
@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 0), (2, 1), (3, 0)])
def test_the_script_of_the_init_container(code: int, ends: int, tmp_path: Path) -> None:
    job = yaml.safe_load((OPS / "kubernetes" / "check-init-container.yaml").read_text())
    (check,) = job["spec"]["template"]["spec"]["initContainers"]
    program(tmp_path, "unhang", f"exit {code}")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RANKS": "8"}
    ran = subprocess.run([*check["command"], *check["args"]], env=environment, check=False)
    assert ran.returncode == ends
