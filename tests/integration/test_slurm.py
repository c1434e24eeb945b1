"""The scripts in `ops/slurm` under a real Slurm: its controller and daemon, on loopback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.chat import chat
from support.needs import NEEDS_TORCH

OPS = Path(__file__).parents[2] / "ops/slurm"
NEEDED = ("slurmctld", "slurmd", "sbatch", "scontrol")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(shutil.which(name) is None for name in NEEDED) or os.geteuid() != 0,
        reason="needs root and Slurm: apt-get install slurm-wlm",
    ),
]

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
ReturnToService=2
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
SlurmdSpoolDir={home}/spool
StateSaveLocation={home}/state
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.log
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
Prolog={home}/prolog.sh
Epilog={home}/epilog.sh
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES State=UP
"""

JOB = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    raise ValueError("the data of shard 7 is broken")
dist.barrier()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A cluster of this host alone; the environment that talks to it."""
    home = tmp_path_factory.mktemp("slurm")
    for name in ("spool", "state"):
        (home / name).mkdir()
    program = Path(sys.executable).with_name("unhang")
    ill = (
        f"[ -e {home}/ill ] && export GLOO_SOCKET_IFNAME=nothere7"  # as a host without its network
    )
    settings = f"export UNHANG={program} SLURM_CONF={home}/slurm.conf\n{ill}"
    for name in ("prolog.sh", "epilog.sh"):
        script = home / name
        script.write_text(f"#!/bin/sh\n{settings}\nexec {OPS}/{name}\n")
        script.chmod(0o755)
    host = socket.gethostname().split(".")[0]
    configuration = home / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(home=home, host=host, ports=free_ports()))
    env = {**os.environ, "SLURM_CONF": str(configuration), "UNHANG": str(program)}
    daemons = [
        subprocess.Popen(
            [name, "-D"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for name in ("slurmctld", "slurmd")
    ]
    try:
        wait(lambda: "idle" in told(env, "sinfo", "--noheader", "--format=%t"), "an idle node")
        yield env
    finally:
        for daemon in daemons:
            os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()


def free_ports() -> list[int]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return [one.getsockname()[1], two.getsockname()[1]]


def told(env: dict[str, str], *command: str) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return done.stdout


def wait(is_so: Callable[[], object], what: str, seconds: float = 90) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, f"no {what} after {seconds:.0f} s"
        time.sleep(0.3)


def submit(env: dict[str, str], logs: Path, script: str) -> int:
    """Run a batch script to its end; its job number."""
    path = logs.parent / "job.sh"
    path.write_text(script)
    output = f"--output={logs}/slurm-%j.out"
    job = int(told(env, "sbatch", "--parsable", "--chdir", str(logs.parent), output, str(path)))
    wait(lambda: str(job) not in told(env, "squeue", "--noheader", "--format=%i"), "end of the job")
    return job


def test_a_failed_job_leaves_its_verdict_and_the_fleet_counts_it(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (tmp_path / "train.py").write_text(JOB)
    launch = f"{sys.executable} -m torch.distributed.run --standalone --nproc-per-node 2 train.py"
    failed = submit(cluster, logs, f"#!/bin/sh\nexport OMP_NUM_THREADS=1\n{launch}\n")
    verdict = logs / f"slurm-{failed}.verdict.txt"
    wait(verdict.exists, "verdict")
    assert verdict.read_text().startswith("ROOT CAUSE   rank_exception")
    assert "rank 1" in verdict.read_text()
    submit(cluster, logs, "#!/bin/sh\necho step 1 loss 2.5\necho training finished\n")
    with chat() as server:
        more = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "UNHANG_NOTIFY": server.url}
        done = subprocess.run(
            [OPS / "exclude.sh", str(logs)],
            cwd=tmp_path,
            env={**cluster, **more},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 jobs, 1 failed")
    assert "rank_exception" in done.stdout
    assert (tmp_path / "bad-nodes.txt").read_text() == ""
    ((_, _, told_people),) = server.heard
    assert f"{failed}: rank_exception" in str(told_people["failures"])


def test_the_prolog_drains_a_host_that_cannot_run_the_job(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    """The job does not start there; where the host is well again jobs run."""
    ill, out = Path(cluster["SLURM_CONF"]).with_name("ill"), tmp_path / "out"
    ill.touch()
    try:
        words = ["sbatch", "--parsable", "--requeue", f"--output={out}", "--wrap=echo well"]
        job = told(cluster, *words).strip()
        wait(lambda: "drain" in told(cluster, "sinfo", "--noheader", "--format=%t"), "a drain")
        assert "nothere7" in told(
            cluster, "sinfo", "--noheader", "--list-reasons", "--format=%200E"
        )
    finally:
        ill.unlink()
    assert "well" not in (out.read_text() if out.exists() else "")
    told(cluster, "scancel", job)  # Slurm would try again after two minutes
    host = socket.gethostname().split(".")[0]
    told(cluster, "scontrol", "update", f"nodename={host}", "state=resume")
    (tmp_path / "logs").mkdir()
    again = submit(cluster, tmp_path / "logs", "#!/bin/sh\necho well\n")
    assert (tmp_path / "logs" / f"slurm-{again}.out").read_text() == "well\n"


def test_the_epilog_never_fails(cluster: dict[str, str], tmp_path: Path) -> None:
    """Slurm drains a node whose epilog does."""
    for env in (
        {**cluster, "SLURM_JOB_ID": "999999"},
        {**cluster, "SLURM_JOB_ID": "x; exit 3", "UNHANG": "/bin/false"},
        {"PATH": os.environ["PATH"]},
    ):
        done = subprocess.run(
            ["sh", OPS / "epilog.sh"], cwd=tmp_path, env=env, capture_output=True, check=False
        )
        assert done.returncode == 0
    assert "drain" not in told(cluster, "sinfo", "--noheader", "--format=%t")


@NEEDS_TORCH
def test_srun_starts_a_check_of_the_cluster(cluster: dict[str, str], tmp_path: Path) -> None:
    output = tmp_path / "report.json"
    launch = ["srun", "--ntasks", "2", cluster["UNHANG"], "check", "--backend", "gloo"]
    words = ["--format", "json", "-o", str(output), "--exclude-file", str(tmp_path / "bad")]
    subprocess.run([*launch, *words], env=cluster, check=True, capture_output=True, timeout=170)
    data = json.loads(output.read_text("utf-8"))
    assert data["world_size"] == 2
    assert [s["status"] for s in data["stages"] if s["name"] == "whole"] == ["pass"]
    assert (tmp_path / "bad").read_text() == ""
