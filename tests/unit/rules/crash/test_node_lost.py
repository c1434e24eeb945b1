"""Lost nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.builders import at, by, incident, source, timeout
from support.crashes import raised, stopped, store
from unhang.model.causes import Cause
from unhang.model.events import StopKind, StoreProblem, WorldSeen
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.rules.crash.node_lost import check


def test_the_scheduler_reports_a_failed_node() -> None:
    (finding,) = check(incident(stopped(StopKind.NODE_FAILED)))
    assert (finding.cause, finding.strength) == (Cause.RANK_CRASH, Strength.PROVES)


def test_missing_keep_alives_are_a_hint() -> None:
    (finding,) = check(incident(store(StoreProblem.NODE_LOST, host="node1_0")))
    assert finding.strength is Strength.HINTS
    assert finding.culprit_hosts == {"node1_0"}


def test_a_node_that_was_missed_before_the_others_timed_out_supports_it() -> None:
    lost = store(StoreProblem.NODE_LOST, host="node1", when=100, line=2)
    late = timeout(0, global_rank=0, when=700, line=3)
    (finding,) = check(incident(lost, late))
    assert finding.strength is Strength.SUPPORTS
    early = timeout(1, global_rank=1, when=50, line=1)
    (finding,) = check(incident(early, lost, late))
    assert finding.strength is Strength.HINTS
    nobody = store(StoreProblem.NODE_LOST, when=100, line=2)
    (finding,) = check(incident(nobody, late))
    assert finding.strength is Strength.HINTS


def test_after_a_failure_it_is_an_echo() -> None:
    job = incident(raised(3, line=1), stopped(StopKind.NODE_FAILED, line=2))
    (finding,) = check(job)
    assert finding.strength is Strength.HINTS


def test_a_cancelled_job_lost_no_node() -> None:
    assert list(check(incident(stopped(StopKind.CANCELLED)))) == []


def test_a_node_that_was_told_to_stop_is_an_echo() -> None:
    job = incident(stopped(StopKind.PREEMPTED, line=1), stopped(StopKind.NODE_FAILED, line=2))
    (finding,) = check(job)
    assert finding.strength is Strength.HINTS


@pytest.mark.parametrize(
    ("world", "spoke", "named"),
    [(4, (0, 1), {2, 3}), (8, (0, 1, 2, 3, 6, 7), {4, 5}), (8, (0, 1, 2, 3, 4), set())],
    ids=["one of two nodes", "one of four", "another may be silent"],
)
def test_the_ranks_that_nobody_heard_of_again(
    world: int, spoke: tuple[int, ...], named: set[int]
) -> None:
    lost = store(StoreProblem.NODE_LOST, host="node1", when=100, line=2)
    told = WorldSeen(source=source(1), origin=by(), world_size=world)
    late = [timeout(r, global_rank=r, when=700, line=3 + r) for r in spoke]
    (finding,) = check(incident(told, lost, *late))
    assert finding.culprits == named


def test_a_node_whose_ranks_were_started_elsewhere_was_replaced() -> None:
    def is_on(host: str, line: int) -> WorldSeen:
        told = WorldSeen(source=source(line), origin=by(), world_size=2, listed=True)
        return replace(told, rank=Rank(1), host=host, pid=line + 100)

    lost = stopped(StopKind.NODE_FAILED, line=2)
    lost = replace(lost, origin=replace(lost.origin, host="n1"))
    for host, strength in (("n1", Strength.PROVES), ("n2", Strength.HINTS)):
        job = incident(is_on("n1", 1), lost, is_on(host, 3))
        (finding,) = check(job)
        assert finding.culprits == {1}
        assert finding.strength is strength


@pytest.mark.parametrize(
    ("line", "artifact", "told"),
    [
        (7, "job.log", True),
        (5, "job.log", True),
        (90, "job.log", False),
        (7, "other.log", False),
    ],
)
def test_a_reason_right_below_the_report_belongs_to_it(
    line: int, artifact: str, told: bool
) -> None:
    lost = store(StoreProblem.NODE_LOST, line=5)
    reason = replace(stopped(StopKind.PREEMPTED), source=source(line, artifact), at=None)
    if artifact != "job.log":
        lost, reason = replace(lost, at=at(1)), replace(reason, at=at(90))
    (finding,) = check(incident(lost, reason))
    assert finding.against is not None
    assert (finding.against.key == "CRA004.against_told") is told
