"""Monitored barriers: what those who reached them tell of the root."""

from __future__ import annotations

import pytest

from support.builders import by, incident, source
from unhang.model.events import BarrierMissing, GlooFault, GlooProblem
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.rules.locate.rank_reported_missing import check


def reached(rank: int) -> BarrierMissing:
    return BarrierMissing(
        source=source(rank),
        origin=by(rank),
        reporter=Rank(rank),
        missing=frozenset({Rank(0)}),
        direct=False,
    )


def gloo(problem: GlooProblem) -> GlooFault:
    return GlooFault(source=source(90), origin=by(), problem=problem)


@pytest.mark.parametrize(
    ("reporter", "problem", "strength"),
    [
        (1, GlooProblem.SEND_TIMED_OUT, Strength.SUPPORTS),
        (2, GlooProblem.SEND_TIMED_OUT, Strength.HINTS),
        (1, GlooProblem.PEER_CLOSED, Strength.HINTS),
        (1, GlooProblem.RECV_TIMED_OUT, Strength.HINTS),
    ],
)
def test_the_first_rank_that_the_root_meets(
    reporter: int, problem: GlooProblem, strength: Strength
) -> None:
    (finding,) = check(incident(reached(reporter), gloo(problem)))
    assert (finding.strength, set(finding.culprits)) == (strength, {0})
