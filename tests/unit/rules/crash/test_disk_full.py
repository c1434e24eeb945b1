"""Full file systems."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.builders import incident, timeout
from support.crashes import gone, raised
from support.job_text import judge_text
from unhang.api import diagnose
from unhang.model.causes import Cause
from unhang.model.events import ExceptionKind, Reporter
from unhang.model.finding import Strength
from unhang.reporters import terminal
from unhang.rules.crash.disk_full import check
from unhang.rules.crash.rank_raised import check as check_raised

FULL = ExceptionKind.DISK_FULL


def test_a_rank_finds_no_space() -> None:
    (finding,) = check(incident(raised(0, "OSError", kind=FULL)))
    assert (finding.cause, finding.strength) == (Cause.RANK_EXCEPTION, Strength.PROVES)
    assert finding.culprits == {0}


def test_after_a_time_out_it_is_a_hint() -> None:
    job = incident(
        timeout(1, global_rank=1, when=1, line=1), raised(0, "OSError", kind=FULL, when=9, line=2)
    )
    (finding,) = check(job)
    assert finding.strength is Strength.HINTS


def test_with_a_bus_error_of_a_worker_it_is_shared_memory() -> None:
    job = incident(
        raised(0, "OSError", kind=FULL, line=1),
        gone(signal=7, worker=True, reporter=Reporter.DATALOADER, line=2),
    )
    assert list(check(job)) == []


@pytest.mark.parametrize("rank", [2, None])
def test_what_the_last_exception_came_from_tells_more(rank: int | None) -> None:
    first = replace(raised(rank, "OSError", kind=FULL, line=1), chained=True)
    job = incident(first, raised(rank, "SaveError", line=9))
    (finding,) = check(job)
    assert finding.culprits == (frozenset() if rank is None else {rank})
    assert len(job.failures) == 1
    assert list(check_raised(job)) == []


@pytest.mark.parametrize("kernel", [True, False])
def test_a_write_that_failed_does_not_tell_that_a_disk_is_full(
    kernel: bool, tmp_path: Path
) -> None:
    (tmp_path / "train.log").write_text(
        "[2024-03-11 08:12:44,470] [INFO] [logging.py:96:log_dist] [Rank 1] step=40, lr=[1e-05]\n"
        "[rank1]: Traceback (most recent call last):\n"
        '[rank1]:   File "/w/fit.py", line 40, in <module>\n'
        "[rank1]:     torch.save(state, path)\n"
        "[rank1]: RuntimeError: [enforce fail at inline_container.cc:595] . "
        "unexpected pos 640 vs 532\n"
    )
    if kernel:
        (tmp_path / "dmesg.txt").write_text(
            "[Mon Mar 11 08:12:31 2024] nfs: server st-3 not responding, timed out\n"
        )
    found = diagnose(str(tmp_path))
    text = terminal.render(found)
    assert found.cause is Cause.RANK_EXCEPTION
    assert found.culprits == {1}
    assert "is full" not in text
    assert ("trouble with the storage" in text) is kernel


@pytest.mark.parametrize("kernel", [True, False])
def test_without_a_rank_nobody_is_named(kernel: bool) -> None:
    storage = "[Mon Mar 11 08:12:31 2024] nfs: server st-3 not responding, timed out"
    (finding,) = judge_text(
        check,
        "Traceback (most recent call last):",
        '  File "/w/fit.py", line 40, in <module>',
        "    torch.save(state, path)",
        "RuntimeError: [enforce fail at inline_container.cc:595] . unexpected pos 640 vs 532",
        **({"dmesg.txt": storage + "\n"} if kernel else {}),
    )
    assert finding.culprits == frozenset()
    ending = "claim_storage_nobody" if kernel else "claim_refused_nobody"
    assert finding.claim.key == f"CRA007.{ending}"


def test_other_exceptions_are_not_its_business() -> None:
    assert list(check(incident(raised(0, "OSError")))) == []
