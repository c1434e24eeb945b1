"""Reports that name ranks, and reports that name everybody."""

from __future__ import annotations

from support.builders import incident, timeout
from support.steps import barrier, ranks, reported, world
from unhang.model.finding import Strength
from unhang.rules.locate.rank_reported_missing import check


def test_the_desync_report() -> None:
    found = incident(reported(ranks(3)), reported(joined=ranks(0, 1, 2)))
    (finding,) = check(found)
    assert (finding.cause, finding.strength) == (None, Strength.PROVES)
    assert finding.culprits == {3}


def test_a_report_of_everybody_accuses_nobody() -> None:
    assert list(check(incident(world(2), reported(ranks(0, 1))))) == []
    calls = [timeout(r, global_rank=r) for r in (0, 1)]
    assert list(check(incident(*calls, reported(ranks(0, 1))))) == []


def test_all_joined() -> None:
    assert list(check(incident(reported(joined=ranks(0, 1, 2, 3))))) == []


def test_who_did_not_come_where_all_that_came_are_listed() -> None:
    came = reported(joined=ranks(1, 2, 3), all_joined=True)
    (finding,) = check(incident(world(4), came))
    assert finding.culprits == {0}
    assert list(check(incident(came))) == [], "nothing tells who else there is"
    everybody = reported(joined=ranks(0, 1, 2, 3), all_joined=True)
    assert list(check(incident(world(4), everybody))) == []


def test_the_barrier_names_who_is_missing() -> None:
    (finding,) = check(incident(barrier(ranks(2, 3))))
    assert finding.culprits == {2, 3}
    assert finding.strength is Strength.PROVES


def test_a_rank_that_reached_the_barrier_only_points_to_its_root() -> None:
    (finding,) = check(incident(barrier(ranks(0), reporter=1, direct=False)))
    assert finding.strength is Strength.HINTS


def test_with_two_ranks_the_root_is_the_missing_one() -> None:
    (finding,) = check(incident(world(2), barrier(ranks(0), reporter=1, direct=False)))
    assert finding.culprits == {0}
    assert finding.strength is Strength.PROVES
