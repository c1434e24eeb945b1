"""What several witnesses of one moment tell together, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from unhang.model.ids import Rank, Ranks
from unhang.model.strength import Strength
from unhang.model.waits import CallRef, Snapshot, Wait, WaitWitness, WitnessKind, ranks_of_ends
from unhang.waitgraph import analyse, merge


def ranks(*numbers: int) -> Ranks:
    return frozenset(map(Rank, numbers))


WORLD = ranks(0, 1, 2, 3)
PROVES, SUPPORTS = Strength.PROVES, Strength.SUPPORTS


def told(
    kind: WitnessKind,
    weight: Strength,
    waiters: Iterable[int],
    awaited: Iterable[int] = (),
    *,
    group: str | None = "0",
    unnamed: int = 0,
) -> Snapshot:
    waiting, missing = ranks(*waiters), ranks(*awaited)
    wait = Wait(
        call=CallRef(group=group, seq=None if group is None else 7, members=WORLD),
        waiters=waiting,
        unnamed=unnamed,
        awaited=missing,
        unknown=WORLD - waiting - missing,
        witnesses=(WaitWitness(kind=kind, weight=weight),),
    )
    return Snapshot(world=WORLD, waits=(wait,))


def test_what_one_witness_does_not_know_another_one_tells() -> None:
    log = told(WitnessKind.LOG, SUPPORTS, [0])
    dumps = told(WitnessKind.RECORDER, PROVES, [1, 2], [3])
    (wait,) = merge([log, dumps]).waits
    assert (wait.waiters, wait.awaited, wait.unknown) == (ranks(0, 1, 2), ranks(3), ranks())
    assert [w.kind for w in wait.witnesses] == [WitnessKind.RECORDER, WitnessKind.LOG]


def test_waiters_that_one_witness_does_not_name_are_those_that_another_one_names() -> None:
    log = told(WitnessKind.LOG, SUPPORTS, [0], unnamed=2)
    dumps = told(WitnessKind.RECORDER, PROVES, [0, 1], [3])
    (wait,) = merge([log, dumps]).waits
    assert (wait.waiters, wait.unnamed) == (ranks(0, 1), 1)


@pytest.mark.parametrize(
    ("log", "stacks", "ends"),
    [(PROVES, SUPPORTS, ranks()), (SUPPORTS, PROVES, ranks(3)), (SUPPORTS, SUPPORTS, ranks())],
)
def test_a_contradiction_is_kept_and_the_stronger_witness_decides(
    log: Strength, stacks: Strength, ends: Ranks
) -> None:
    """Rank 3 gave up a wait by the log, and is elsewhere by its stack."""
    waited = told(WitnessKind.LOG, log, [0, 3])
    outside = told(WitnessKind.STACK, stacks, [0, 1, 2], [3], group=None)
    for order in ([waited, outside], [outside, waited]):
        found = analyse(merge(order))
        (contradiction,) = found.contradictions
        assert contradiction.ranks == ranks(3)
        assert contradiction.waiting.kind is WitnessKind.LOG
        assert contradiction.elsewhere.kind is WitnessKind.STACK
        assert ranks_of_ends(found.ends) == ends


def test_one_witness_alone_is_left_as_it_is() -> None:
    only = told(WitnessKind.LOG, PROVES, [0], [1])
    assert merge([Snapshot(), only]) is only
    assert merge([]) == Snapshot()
