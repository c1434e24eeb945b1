"""What parents say of spawned ranks and of data-loader workers."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import ClosingSignal, ProcessEnded, Reporter, StopKind, StopSeen
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.spawn import SpawnParser


@pytest.mark.parametrize(
    ("text", "signal", "code"),
    [
        ("ProcessExitedException: process 3 terminated with signal SIGKILL", 9, None),
        ("ProcessExitedException: process 3 terminated with exit code 1", None, 1),
        ("Exception: process 3 terminated with exit code 137", 9, None),
        ("-- Process 3 terminated with the following error:", None, 1),
    ],
)
def test_mp_spawn(text: str, signal: int | None, code: int | None) -> None:
    event = only(ProcessEnded, feed(SpawnParser, text))
    assert (event.local_rank, event.rank) == (LocalRank(3), None)
    assert (event.signal, event.exit_code) == (signal, code)


def test_lightning() -> None:
    text = (
        "[rank: 3] Child process with PID 4711 terminated with code -9. Forcefully terminating "
        "all other processes to avoid zombies"
    )
    event = only(ProcessEnded, feed(SpawnParser, text))
    assert (event.rank, event.pid, event.signal) == (Rank(3), 4711, 9)
    assert event.reporter is Reporter.LIGHTNING


def test_a_rank_that_lightning_closes_is_a_victim() -> None:
    assert only(ClosingSignal, feed(SpawnParser, "[rank: 0] Received SIGTERM: 15")).signal == 15


@pytest.mark.parametrize(
    ("text", "pid", "signal"),
    [
        ("DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible", 4711, 7),
        ("DataLoader worker (pid 4711) is killed by signal: Killed.", 4711, 9),
        ("RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly", 12, None),
        (
            "ERROR: Unexpected bus error encountered in worker. This might be caused by "
            "insufficient shared memory (shm).",
            None,
            7,
        ),
        ("ERROR: Unexpected floating-point exception encountered in worker.", None, 8),
    ],
)
def test_workers_are_no_ranks(text: str, pid: int | None, signal: int | None) -> None:
    event = only(ProcessEnded, feed(SpawnParser, text))
    assert event.worker
    assert (event.rank, event.local_rank) == (None, None)
    assert (event.pid, event.signal) == (pid, signal)


def test_a_hangup_closes_the_session() -> None:
    events = feed(SpawnParser, "DataLoader worker (pid 4711) is killed by signal: Hangup.")
    assert only(StopSeen, events).kind is StopKind.HANGUP
    assert only(ProcessEnded, events).signal == 1
