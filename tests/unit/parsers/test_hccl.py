"""HCCL's report of a collective that timed out is that of a victim."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import CollectiveTimeout
from unhang.parsers.hccl import HcclParser

REPORT = (
    "EI0002: [PID: 7277] 2026-05-01-11:59:30.645.648 The wait execution of the Notify register "
    "times out. Reason: The Notify register has not received the record from rank [4]."
    "base information: [streamID:[22], taskID[5], tag[{tag}_90.90.92.240], AlgType(level 0-1-2):"
    "[fullmesh-ring-ring].] Possible Cause: too slow (default 1800s, You can set the interval)"
)


@pytest.mark.parametrize(
    ("tag", "op"), [("AllReduce", "ALLREDUCE"), ("ReduceScatter", "REDUCESCATTER")]
)
def test_which_collective_was_given_up(tag: str, op: str) -> None:
    found = only(CollectiveTimeout, feed(HcclParser, REPORT.format(tag=tag)))
    assert (found.op, found.timeout_ms) == (op, 1_800_000)


def test_a_cut_report_still_says_that_there_was_a_timeout() -> None:
    (found,) = feed(HcclParser, REPORT[:110])
    assert isinstance(found, CollectiveTimeout)
    assert found.timeout_ms is None


def test_limit_and_time_stand_apart() -> None:
    head, tail = REPORT.format(tag="AllReduce").split("Possible Cause")
    found = only(CollectiveTimeout, feed(HcclParser, head, f"   Possible Cause{tail}"))
    assert found.timeout_ms == 1_800_000
    assert found.at is not None


def test_a_second_report_ends_the_first_whose_limit_was_not_told() -> None:
    cut = REPORT.partition(" Possible Cause")[0]
    first, second = feed(HcclParser, cut.format(tag="AllReduce"), REPORT.format(tag="AllGather"))
    assert isinstance(first, CollectiveTimeout)
    assert isinstance(second, CollectiveTimeout)
    assert (first.op, first.timeout_ms) == ("ALLREDUCE", None)
    assert (second.op, second.timeout_ms) == ("ALLGATHER", 1_800_000)
