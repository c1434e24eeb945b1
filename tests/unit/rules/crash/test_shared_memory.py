"""Shared memory that is full."""

from __future__ import annotations

from support.builders import incident
from support.crashes import gone, raised, stopped
from support.job_text import judge_text
from unhang.model.causes import Cause
from unhang.model.events import ExceptionKind, Reporter
from unhang.model.finding import Strength
from unhang.rules.crash import process_crashed
from unhang.rules.crash.shared_memory import check


def test_a_worker_dies_of_a_bus_error() -> None:
    job = incident(gone(signal=7, worker=True, reporter=Reporter.DATALOADER))
    (finding,) = check(job)
    assert (finding.cause, finding.strength) == (Cause.SHM_SMALL, Strength.PROVES)
    assert finding.culprits == frozenset()


def test_pytorch_says_so() -> None:
    (finding,) = check(incident(raised(2, kind=ExceptionKind.SHARED_MEMORY)))
    assert (finding.strength, finding.culprits) == (Strength.PROVES, frozenset({2}))


def test_a_rank_s_bus_error_supports_it() -> None:
    (finding,) = check(incident(gone(2, signal=7), gone(0, signal=15)))
    assert (finding.strength, finding.culprits) == (Strength.SUPPORTS, frozenset({2}))


def test_after_a_stop_it_is_a_hint() -> None:
    job = incident(
        stopped(line=1), gone(signal=7, worker=True, reporter=Reporter.DATALOADER, line=2)
    )
    (finding,) = check(job)
    assert finding.strength is Strength.HINTS


def test_a_worker_killed_otherwise_is_no_matter_of_shared_memory() -> None:
    job = incident(gone(signal=9, worker=True, reporter=Reporter.DATALOADER))
    assert list(check(job)) == []


def bus_error(place: str) -> tuple[int, int]:
    """How often it is laid to shared memory, and how often to the program."""
    lines = (
        "Fatal Python error: Bus error",
        "Thread 0x00007f20b37fe640 (most recent call first):",
        '  File "/usr/lib/python3.10/threading.py", line 324 in wait',
        "Current thread 0x00007f2175a92740 (most recent call first):",
        f'  File "{place}", line 23 in get_batch',
    )
    return len(judge_text(check, *lines)), len(judge_text(process_crashed.check, *lines))


def test_whose_page_it_was_is_told_by_the_stack() -> None:
    assert bus_error("/home/mk/job/data.py") == (0, 1)
    assert bus_error("/v/torch/multiprocessing/reductions.py") == (1, 0)
    assert bus_error("/v/torch/utils/data/_utils/collate.py") == (1, 0)
