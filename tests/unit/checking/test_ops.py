"""The examples for schedulers: their shell runs, their manifests are what Kubernetes takes."""

import os
import subprocess
import sys
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


@pytest.mark.parametrize("path", sorted(OPS.glob("kubernetes/*.yaml")), ids=lambda path: path.name)
def test_the_manifests_are_what_kubernetes_takes(path: Path) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for resource in yaml.safe_load_all(path.read_text()):
        kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


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


POD_LOGS = {
    "train-0": """\
2026-11-21T05:05:16.100000001Z [rank0]: step 41 loss 2.31
2026-11-21T05:05:20.300000001Z W1121 05:05:20.300000 71 torch/distributed/elastic/multiprocessing/\
api.py:1028] Sending process 77 closing signal SIGTERM
""",
    "train-1": """\
2026-11-21T05:05:18.500000001Z [rank1]: Traceback (most recent call last):
2026-11-21T05:05:18.500000002Z [rank1]:   File "/app/train.py", line 31, in <module>
2026-11-21T05:05:18.500000003Z [rank1]:     labels = batch["labels"]
2026-11-21T05:05:18.500000004Z [rank1]: KeyError: 'labels'
""",
}
FAKE_KUBECTL = """
# Stands in for kubectl: two pods of one job, in files.
case "$1" in --namespace=*) shift;; esac
verb=$1; shift
case "$*" in --namespace=ml*) shift;; *) exit 1;; esac
case "$verb $*" in
  "get pods --selector=job-name=train --output=name") echo pod/train-0; echo pod/train-1;;
  "get pods "*) ;;
  "logs "*--previous) echo "previous terminated container not found" >&2; exit 1;;
  "logs train-"*) sed "s/^/[pod\\/$1\\/trainer] /" "$PODS/$1";;
  "describe pod "*) echo "Name:  $2"; echo "Status:  Failed";;
  *) exit 1;;
esac
"""


def diagnose_pods(folder: Path, selector: str) -> subprocess.CompletedProcess[str]:
    """The script with two pods, and the real unhang."""
    for name, text in POD_LOGS.items():
        (folder / name).write_text(text)
    program(folder, "kubectl", FAKE_KUBECTL)
    unhang = program(folder, "unhang", f'exec {sys.executable} -m unhang "$@"')
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PODS": str(folder),
                   "UNHANG": str(unhang), "TMPDIR": str(folder)}  # fmt: skip
    command = ["sh", str(OPS / "kubernetes" / "diagnose-pods.sh"), selector, "ml"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_the_logs_of_all_pods_are_judged_and_the_last_pod_named(tmp_path: Path) -> None:
    ran = diagnose_pods(tmp_path, "job-name=train")
    assert ran.returncode == 1, ran.stdout + ran.stderr  # a cause
    assert "Rank 1 raised an exception and exited: KeyError" in ran.stdout
    assert [line.split() for line in ran.stdout.splitlines()[-2:]] == [
        ["2026-11-21T05:05:18.500000004Z", "train-1"],
        ["2026-11-21T05:05:20.300000001Z", "train-0"],
    ]
    assert not list(tmp_path.glob("tmp.*")), "the logs were left behind"


@pytest.mark.process
def test_a_selector_that_nothing_has_is_told(tmp_path: Path) -> None:
    ran = diagnose_pods(tmp_path, "job-name=trian")
    assert (ran.returncode, ran.stderr) == (2, "no pod has job-name=trian\n")


SHOWS = 'printf "%s\\n" "$*" >> "$0.told"'


@pytest.mark.process
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "run -- ray start --block --head --port=6379"),
        (
            "2 0 head",
            "run --nodes 2 --node-rank 0 --collector http://head:8766 --"
            " ray start --block --head --port=6379",
        ),
        (
            "2 1 head",
            "run --nodes 2 --node-rank 1 --collector http://head:8766 --"
            " ray start --block --address=head:6379",
        ),
    ],
)
def test_ray_is_started_below_the_judge(given: str, told: str, tmp_path: Path) -> None:
    """That its workers are then watched was seen with a real Ray."""
    unhang = program(tmp_path, "unhang", SHOWS)
    script = str(OPS / "ray" / "watched-node.sh")
    environment = {**os.environ, "UNHANG": str(unhang)}
    subprocess.run(["sh", script, *given.split()], env=environment, check=True)
    assert (tmp_path / "unhang.told").read_text() == f"{told}\n"


@pytest.mark.process
def test_the_task_of_skypilot_starts_each_node_with_its_number(tmp_path: Path) -> None:
    """Its form was compared with the schema of SkyPilot 0.14.1, which is too large to install."""
    task = yaml.safe_load((OPS / "skypilot" / "watched-task.yaml").read_text())
    program(tmp_path, "unhang", SHOWS)
    node = {"NODE_IPS": "10.0.0.1\n10.0.0.2", "NODE_RANK": "1", "TASK_ID": "sky-7",
            "NUM_NODES": "2", "NUM_GPUS_PER_NODE": "8"}  # fmt: skip
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    environment |= {f"SKYPILOT_{name}": value for name, value in node.items()}
    subprocess.run(["bash", "-c", task["run"]], env=environment, check=True)
    assert (tmp_path / "unhang.told").read_text().split() == [
        *("run", "--out", "/checkpoints/unhang/sky-7-1", "--timeouts", "judge"),
        *("--on-hang", "abort", "--nodes", str(task["num_nodes"]), "--node-rank", "1"),
        *("--collector", "http://10.0.0.1:8766", "--", "torchrun", "--nnodes=2", "--node-rank=1"),
        *("--nproc-per-node=8", "--master-addr=10.0.0.1", "--master-port=29500", "train.py"),
    ]
