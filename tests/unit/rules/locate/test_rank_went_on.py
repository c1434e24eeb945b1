"""One rank prints of its work while the others wait; and when that says nothing."""

from __future__ import annotations

import pytest

from support.builders import by, incident, source, timeout
from support.crashes import raised
from unhang.model.events import Event, LastLine, StopKind, StopSeen
from unhang.model.finding import Strength
from unhang.model.provenance import Origin
from unhang.rules.locate.rank_went_on import check


def waiting(*ranks: int, op: str = "ALLREDUCE") -> list[Event]:
    return [timeout(r, global_rank=r, op=op, line=10 + r) for r in ranks]


def spoke(rank: int, line: int, *, waits: bool = False) -> LastLine:
    return LastLine(source=source(line), origin=by(rank), waits_by_its_words=waits)


def test_the_only_rank_that_went_on_is_named() -> None:
    (finding,) = check(incident(*waiting(0, 1, 3), spoke(2, 30)))
    assert finding.culprits == {2}
    assert finding.strength is Strength.SUPPORTS


def test_a_single_waiter_makes_a_hint() -> None:
    (finding,) = check(incident(*waiting(1), spoke(2, 30)))
    assert finding.strength is Strength.HINTS


@pytest.mark.parametrize(
    "events",
    [
        waiting(0, 1, 3),
        [*waiting(0, 1, 3), spoke(2, 2)],
        [*waiting(0, 1, 3), spoke(2, 30, waits=True)],
        [*waiting(0, 1), spoke(2, 30), spoke(3, 31)],
        [*waiting(0, 1, 2), spoke(2, 30)],
        [*waiting(0, 1, 3, op="SEND"), spoke(2, 30)],
        [raised(3, line=2), *waiting(0, 1), spoke(2, 30)],
        [
            StopSeen(source=source(1), origin=Origin(), kind=StopKind.CANCELLED),
            *waiting(0, 1, 3),
            spoke(2, 30),
        ],
    ],
)
def test_what_names_nobody(events: list[Event]) -> None:
    assert list(check(incident(*events))) == []
