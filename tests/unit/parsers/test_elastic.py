"""torchrun's agent and its failure table, torch 1.9 to 2.13."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import ClosingSignal, ProcessEnded, Reporter, Restarted, StopKind, StopSeen
from unhang.model.ids import LocalRank, Rank
from unhang.model.time import Clock
from unhang.parsers.elastic import ElasticParser

MODERN = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-21_01:38:58
  host      : node1
  rank      : 8 (local_rank: 0)
  exitcode  : -15 (pid: 11892)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 11892
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-21_01:38:57
  host      : node1
  rank      : 10 (local_rank: 2)
  exitcode  : -11 (pid: 11896)
  error_file: <N/A>
============================================================"""

OLD = """***************************************
            train.py FAILED
=======================================
Root Cause:
[0]:
  time: 2021-08-05_12:06:33
  rank: 1 (local_rank: 1)
  exitcode: -7 (pid: 26195)
  error_file: <N/A>
  msg: "Signal 7 (SIGBUS) received by PID 26195"
=======================================
Other Failures:
  <NO_OTHER_FAILURES>"""


def test_the_table() -> None:
    rows = [e for e in feed(ElasticParser, *MODERN.splitlines()) if isinstance(e, ProcessEnded)]
    assert [(e.rank, e.signal, e.reported_first) for e in rows] == [(8, 15, False), (10, 11, True)]
    root = rows[1]
    assert (root.local_rank, root.pid, root.host) == (LocalRank(2), 11896, "node1")
    assert root.at is not None
    assert root.at.clock is Clock.LOCAL
    assert rows[0].at is not None
    assert rows[0].at.since(root.at) == 1.0


def test_the_table_of_torch_1_9() -> None:
    row = only(ProcessEnded, feed(ElasticParser, *OLD.splitlines()))
    assert (row.rank, row.signal, row.reported_first) == (Rank(1), 7, True)


def test_the_table_read_off_a_screenshot() -> None:
    row = only(
        ProcessEnded,
        feed(
            ElasticParser,
            "Root Cause (first observed failure) :",
            "[0]:",
            "time",
            "rank2 (local rank: 2)exitcode: -9 (pid: 37866)error file: <N/A>",
        ),
    )
    assert (row.rank, row.signal, row.reported_first) == (Rank(2), 9, True)


@pytest.mark.parametrize(
    ("text", "local", "signal", "code"),
    [
        ("failed (exitcode: -9) local_rank: 3 (pid: 20549) of binary: /opt/python3", 3, 9, None),
        ("failed (exitcode: 1) local_rank: 0 (pid: 7) of binary: ./run.sh", 0, None, 1),
        ("Child process 26195 (local_rank 1) FAILED (exitcode -11)", 1, 11, None),
    ],
)
def test_the_agent_s_line(text: str, local: int, signal: int | None, code: int | None) -> None:
    event = only(ProcessEnded, feed(ElasticParser, text))
    assert (event.local_rank, event.signal, event.exit_code) == (LocalRank(local), signal, code)
    assert event.rank is None
    assert event.reporter is Reporter.ELASTIC


@pytest.mark.parametrize(
    ("text", "pid", "signal"),
    [
        ("Sending process 20546 closing signal SIGTERM", 20546, 15),
        ("Closing process 20546 via signal SIGTERM", 20546, 15),
        ("Terminating process 5364 via signal SIGTERM", 5364, 15),
        ("Sending process 20546 closing signal SIGHUP", 20546, 1),
        (
            "Unable to shutdown process 12 via Signals.SIGTERM, forcefully exiting via "
            "Signals.SIGKILL",
            12,
            9,
        ),
    ],
)
def test_closing_signals(text: str, pid: int, signal: int) -> None:
    event = only(ClosingSignal, feed(ElasticParser, text))
    assert (event.pid, event.signal) == (pid, signal)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Received Signals.SIGTERM death signal, shutting down workers", StopKind.TERMINATED),
        ("Received Signals.SIGINT death signal, shutting down workers", StopKind.INTERRUPT),
        ("Received 1 death signal, shutting down workers", StopKind.HANGUP),
        ("SignalException: Process 7 got signal: 15", StopKind.TERMINATED),
    ],
)
def test_the_agent_is_stopped(text: str, kind: StopKind) -> None:
    assert only(StopSeen, feed(ElasticParser, text)).kind is kind


def test_restarts() -> None:
    text = "[default] Worker group FAILED. 2/3 attempts left; will restart worker group"
    event = only(Restarted, feed(ElasticParser, text))
    assert (event.attempts_left, event.launch) == (2, False)
    regrouped = "[default] Detected 1 new nodes from group_rank=0; will restart worker group"
    assert only(Restarted, feed(ElasticParser, regrouped)).attempts_left is None


def test_a_rank_without_its_exit_code_says_nothing() -> None:
    assert feed(ElasticParser, "Failures:", "[1]:", "  rank      : 8 (local_rank: 0)") == []
