"""Running jobs are found by any of their processes, among real ones."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from unhang.capturing.jobs import job_in_container, job_of_process, job_of_scheduler, running_jobs
from unhang.capturing.running import diagnose_running
from unhang.errors import UsageError

WAITS = "import time\ndef wait_for_batch():\n    time.sleep(300)\nwait_for_batch()"


JOB = f"9{os.getpid()}"
"""Of this process alone: the same tests may run beside it."""


@pytest.fixture
def ranks() -> Iterator[list[int]]:
    """Two ranks without a launcher, as srun starts them."""
    port = str(20_000 + os.getpid() % 30_000)
    common = {**os.environ, "WORLD_SIZE": "4", "MASTER_PORT": port, "SLURM_JOB_ID": JOB}
    started = [
        subprocess.Popen([sys.executable, "-c", WAITS], env={**common, "RANK": str(rank)})
        for rank in (1, 3)
    ]
    time.sleep(1.0)
    yield [process.pid for process in started]
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.process
def test_ranks_that_meet_at_one_place_are_one_job(ranks: list[int]) -> None:
    (job,) = [job for job in running_jobs() if set(ranks) & set(job.pids)]
    assert (job.pids, set(job.ranks), job.world_size) == (tuple(sorted(ranks)), {1, 3}, 4)
    assert job_of_process(ranks[0]).pids == job.pids
    assert job_of_scheduler(JOB).ranks == {1, 3}


@pytest.mark.process
def test_a_job_that_is_not_here_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match="srun --jobid=4040404 --overlap"):
        job_of_scheduler("4040404")
    with pytest.raises(UsageError, match="there is no process"):
        job_of_process(2**22 + 1)
    with pytest.raises(UsageError, match="no container 'nobody'"):
        job_in_container("nobody")


PAUSE_S = 0.5
"""Nobody may be held for longer by a look."""


@contextmanager
def held_s(pids: list[int]) -> Iterator[list[float]]:
    """The longest time for which one of the processes was held, as the kernel shows it."""
    longest_s, over = [0.0], threading.Event()

    def watch() -> None:
        since: dict[int, float] = {}
        while not over.is_set():
            for pid in pids:
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                now = time.monotonic()
                if state in {"T", "t"}:
                    longest_s[0] = max(longest_s[0], now - since.setdefault(pid, now))
                else:
                    since.pop(pid, None)
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield longest_s
    finally:
        over.set()
        watcher.join()


@pytest.mark.skipif(shutil.which("py-spy") is None, reason="needs py-spy on the PATH")
@pytest.mark.timeout(90)
def test_a_look_tells_where_the_ranks_stand_and_leaves_them_as_they_were(ranks: list[int]) -> None:
    with held_s(ranks) as longest_s:
        verdict = diagnose_running(job_of_process(ranks[0]))
    assert longest_s[0] <= PAUSE_S
    assert not verdict.without, verdict.lacks
    told = {source.artifact for s in verdict.diagnosis.standings for source in (s.first.source,)}
    assert told == {"host=" + name.partition("=")[2] for name in told}
    assert verdict.diagnosis.stats.size_bytes > 0
    (stands,) = [s for s in verdict.diagnosis.standings if s.ranks >= {1, 3}]
    assert "wait_for_batch" in stands.first.frame
    for pid in ranks:
        assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.process
@pytest.mark.timeout(90)
def test_a_look_that_is_ended_leaves_no_file(ranks: list[int], tmp_path: Path) -> None:
    words = (sys.executable, "-m", "unhang", "diagnose", "--pid", str(ranks[0]))
    look = subprocess.Popen(
        words,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not list(tmp_path.iterdir()) and look.poll() is None:
        time.sleep(0.05)
    look.send_signal(signal.SIGTERM)
    assert look.wait(60) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_without_py_spy_the_remedy_is_named(
    ranks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unhang.capturing.source_context.find_program", lambda _: None)
    verdict = diagnose_running(job_of_process(ranks[0]))
    assert verdict.without == {1, 3}
    assert [why.key for why in verdict.lacks] == ["capture.why.not_installed"]
