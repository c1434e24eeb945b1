"""Jobs that hang for real (Gloo), captured by pid without a probe, and judged from the bundle."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

import unhang
from support.source_contexts import may_trace
from unhang.capturing import capture
from unhang.model.capture import Fate
from unhang.model.diagnosis import Diagnosis, Outcome

BIN = Path(sys.executable).parent

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not may_trace(), reason="py-spy is not there, or not let"),
]

JOB = """
import datetime, os, time
from pathlib import Path

import torch
import torch.distributed as dist

os.environ["HOME"] = "/home/alice"
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=600))
rank = dist.get_rank()
tensor = torch.ones(4)
dist.all_reduce(tensor)


def late():
    {late}


here = Path(os.environ["READY"], str(rank))
here.with_suffix(".new").write_text(str(os.getpid()))
here.with_suffix(".new").rename(here)
if rank == 1:
    late()
{meeting}
"""
WAIT = "dist.all_reduce(tensor)"
STEPS = """
import random

while True:
    time.sleep(random.random() * 0.2)
    dist.all_reduce(tensor)
"""
HANGS = {
    "sleep": "time.sleep(600)",
    "spin": "end = time.monotonic() + 600\n    while time.monotonic() < end: sum(range(1000))",
}


@contextmanager
def job(tmp_path: Path, late: str, meeting: str = WAIT) -> Iterator[subprocess.Popen[bytes]]:
    """Three ranks below torchrun, all of them where they hang."""
    script = tmp_path / "train.py"
    script.write_text(JOB.format(late=late, meeting=meeting))
    ready = tmp_path / "ready"
    ready.mkdir()
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "READY": str(ready),
        "WANDB_API_KEY": "0123456789abcdef0123456789abcdef01234567",
    }
    words = [str(BIN / "torchrun"), "--standalone", "--nproc-per-node", "3", str(script)]
    with (tmp_path / "train.log").open("wb") as log:
        started = subprocess.Popen(
            words, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        _await(lambda: {path.name for path in ready.iterdir()} == {"0", "1", "2"})
        if meeting == WAIT:
            waiting = [int((ready / rank).read_text()) for rank in "02"]
            _await(lambda: all(map(_rests, waiting)))
        yield started
    finally:
        _end(started)


def _rests(pid: int) -> bool:
    """Whether a process uses no CPU time for a while: it waits in the collective."""
    before = _cpu_ticks(pid)
    time.sleep(0.5)
    return _cpu_ticks(pid) == before


def _cpu_ticks(pid: int) -> tuple[str, ...]:
    """Its state, and its CPU time; one that wants a core and gets none is no sleeper."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return ("S" if fields[0] == "S" else str(time.monotonic()), *fields[11:13])


def _await(holds: Callable[[], bool]) -> None:
    for _ in range(900):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("the job did not begin")


def _end(started: subprocess.Popen[bytes]) -> None:
    """torchrun ends its ranks, which are in sessions of their own."""
    started.send_signal(signal.SIGTERM)
    try:
        started.wait(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


@pytest.mark.parametrize("hang", HANGS)
def test_a_late_rank_is_named_from_a_bundle_alone(hang: str, tmp_path: Path) -> None:
    bundle = tmp_path / "b.unhang.tar.zst"
    with job(tmp_path, HANGS[hang]) as launcher:
        result = capture(pids=[launcher.pid], out=bundle, redact_hosts=hang == "spin")
        assert launcher.poll() is None
    taken = {(e.source, e.subject) for e in result.manifest.entries if e.fate is Fate.TAKEN}
    assert taken >= {(name, f"rank {n}") for name in ("stacks", "environment") for n in range(3)}
    verdict = unhang.diagnose(str(bundle))
    assert verdict.outcome in {Outcome.LOCATED, Outcome.CAUSE}, _shown(verdict)
    assert verdict.culprits == {1}, _shown(verdict)
    assert verdict.victims == {0, 2}, _shown(verdict)
    assert verdict.coverage.ranks_seen == {0, 1, 2}
    assert verdict.coverage.world_size == 3


def test_ranks_that_all_work_are_not_blamed(tmp_path: Path) -> None:
    bundle = tmp_path / "b.unhang.tar.zst"
    with job(tmp_path, "pass", STEPS) as launcher:
        capture(pids=[launcher.pid], out=bundle)
        assert launcher.poll() is None
    verdict = unhang.diagnose(str(bundle))
    assert verdict.outcome in {Outcome.UNDETERMINED, Outcome.HEALTHY}, _shown(verdict)
    assert verdict.culprits == frozenset(), _shown(verdict)


def _shown(verdict: Diagnosis) -> str:
    return f"{verdict.outcome} {verdict.cause} {verdict.culprits} {verdict.summary}"
