"""Dump signals and heartbeat reports of torch 2.2 to 2.13."""

import pytest

from support.feeding import feed, only
from unhang.model.events import DumpReason, DumpSignal, WatchdogStuck
from unhang.parsers.dumps import DumpsParser

WHO = "[PG ID 0 PG GUID 0(default_pg) Rank 3] "


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("First PG on this rank to signal dumping.", DumpReason.OWN),
        ("First watchdog to set the dump signal.", DumpReason.OWN),
        (
            "ProcessGroupNCCL's watchdog detected a collective timeout from the local rank.",
            DumpReason.OWN,
        ),
        (
            "Observed flight recorder dump signal from another rank via TCPStore.",
            DumpReason.OBSERVED,
        ),
        (
            "First PG on this rank detecting the dump signal through tcpstore.",
            DumpReason.OBSERVED,
        ),
        ("Received a global timeout from another rank and will dump.", DumpReason.OBSERVED),
        ("Received a global dump signal from rank 5, and will try.", DumpReason.TOLD),
        ("ProcessGroupNCCL's watchdog detected a dump signal from rank 5 and", DumpReason.TOLD),
        ("Received a dump signal due to a collective timeout from  rank 5 and", DumpReason.TOLD),
    ],
)
def test_who_dumps_on_whose_signal(text: str, reason: DumpReason) -> None:
    found = only(DumpSignal, feed(DumpsParser, WHO + text))
    assert found.reason is reason
    assert found.group_rank == 3
    assert found.teller == (5 if reason is DumpReason.TOLD else None)


def test_counters_come_along_without_a_blank_after_the_stop() -> None:
    text = (
        f"{WHO}Received a dump signal due to a collective timeout from this local rank and we will "
        "try our best to dump the debug info. Last enqueued NCCL work: 811, last completed NCCL "
        "work: 807.This is most likely caused by incorrect usages of collectives"
    )
    found = only(DumpSignal, feed(DumpsParser, text))
    assert (found.reason, found.enqueued, found.completed) == (DumpReason.OWN, 811, 807)


def test_a_stuck_watchdog_tells_for_how_long() -> None:
    text = (
        f"{WHO}ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in "
        "monitoring enqueued collectives. This typically indicates a NCCL/CUDA API hang"
    )
    assert only(WatchdogStuck, feed(DumpsParser, text)).stuck_s == 480


def test_the_number_of_pending_works_of_2_3() -> None:
    text = (
        "[PG 0 Rank 1] Heartbeat monitor timed out! Process will be terminated after dumping "
        "debug info. workMetaList_.size()=84"
    )
    found = only(WatchdogStuck, feed(DumpsParser, text))
    assert (found.group_rank, found.pending, found.gil) == (1, 84, False)


def test_the_gil() -> None:
    text = "Could not acquire GIL within 300 ms on exit, possible GIL induced hang"
    assert only(WatchdogStuck, feed(DumpsParser, text)).gil


def test_advice_about_the_gil_is_no_finding() -> None:
    text = f"{WHO}... could be triggered by another thread holding the GIL inside a CUDA api"
    assert feed(DumpsParser, text) == []
