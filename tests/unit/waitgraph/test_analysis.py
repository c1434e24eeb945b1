"""What the waits of a snapshot come to: ends, cycles, calls open on all, and what nobody knows."""

from __future__ import annotations

import cProfile
import json
import pstats
import random
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from unhang.model.ids import NO_RANKS, Rank, Ranks, RankSpans
from unhang.model.stack_states import Doing
from unhang.model.strength import Strength
from unhang.model.waits import (
    Analysis,
    CallRef,
    Life,
    RankState,
    Snapshot,
    Wait,
    WaitWitness,
    WitnessKind,
    ranks_of_ends,
)
from unhang.waitgraph import WaitGraph, analyse
from unhang.waitgraph.record import to_json

DUMP = WaitWitness(kind=WitnessKind.RECORDER, weight=Strength.PROVES)


def ranks(*numbers: int) -> Ranks:
    return frozenset(map(Rank, numbers))


def wait(
    group: str,
    waiters: Iterable[int],
    awaited: Iterable[int] = (),
    *,
    held: Iterable[int] = (),
    unknown: Iterable[int] = (),
) -> Wait:
    sets = [ranks(*some) for some in (waiters, awaited, held, unknown)]
    return Wait(
        call=CallRef(group=group, seq=7, op="all_reduce", members=NO_RANKS.union(*sets)),
        waiters=sets[0],
        awaited=sets[1],
        held=sets[2],
        unknown=sets[3],
        witnesses=(DUMP,),
    )


def analysed(*waits: Wait, states: tuple[RankState, ...] = ()) -> Analysis:
    return analyse(Snapshot(waits=waits, states=states))


def test_the_rank_that_all_wait_for_in_the_end_is_named_with_the_way_there() -> None:
    """A pipeline: 0 waits for 1, 1 for 2, and 2 and 3 for 4 in a call of a group of their own."""
    first, second = wait("a", [0], [1]), wait("b", [1], [2])
    third = wait("c", [2, 3], [4])
    found = analysed(third, second, first)
    assert [(end.rank, end.chain) for end in found.ends] == [(4, (first, second, third))]
    assert found.held_up == ranks(0, 1, 2, 3)
    assert (found.cycles, found.together, found.undecided) == ((), (), None)
    assert WaitGraph(found.waits).victims(Rank(4)) == ranks(0, 1, 2, 3)


def test_who_issued_a_call_behind_another_open_one_is_no_end() -> None:
    found = analysed(wait("a", [0, 1], held=[2]), wait("b", [2], [3]))
    assert ranks_of_ends(found.ends) == ranks(3)


def test_calls_of_two_groups_in_different_orders_are_a_cycle() -> None:
    found = analysed(wait("a", [0, 1, 2], held=[3]), wait("b", [3], held=[0]))
    (cycle,) = found.cycles
    assert (cycle.ranks, cycle.few, cycle.leads_out) == (ranks(0, 3), ranks(3), False)
    assert found.ends == ()


def test_a_cycle_that_also_waits_for_somebody_outside_says_so() -> None:
    found = analysed(wait("a", [0], [1, 5]), wait("b", [1], [0]))
    assert [cycle.leads_out for cycle in found.cycles] == [True]
    assert ranks_of_ends(found.ends) == ranks(5)


def test_silence_is_not_absence() -> None:
    found = analysed(wait("a", [0, 1], unknown=[2, 3]))
    assert found.ends == ()
    assert found.undecided is not None
    assert found.undecided.ranks == ranks(2, 3)
    assert found.undecided.lacking == (WitnessKind.STACK, WitnessKind.LOG)


def test_what_a_known_end_explains_is_not_undecided() -> None:
    found = analysed(wait("a", [0, 1], [2], unknown=[3]), wait("b", [4], [0]))
    assert ranks_of_ends(found.ends) == ranks(2)
    assert found.undecided is None


def test_of_unknown_ranks_those_that_a_call_needs_alone_are_enough() -> None:
    found = analysed(wait("a", [0, 1], unknown=[2, 3]), wait("b", [4], unknown=[3]))
    assert found.undecided is not None
    assert found.undecided.ranks == ranks(3)


def test_a_call_that_all_have_issued_names_nobody() -> None:
    all_in = wait("a", [0, 1, 2])
    found = analysed(all_in)
    assert (found.together, found.ends, found.held_up) == ((all_in,), (), NO_RANKS)


def test_a_rank_that_waits_unseen_is_no_end_and_one_that_is_gone_is() -> None:
    call = wait("a", [0, 1], [2])
    unseen = RankState(ranks=ranks(2), activity=Doing.WAITS)
    assert analysed(call, states=(unseen,)).ends == ()
    gone = RankState(ranks=ranks(1), life=Life.GONE)
    both = analysed(wait("a", [0, 1], [2]), wait("b", [2], [1]), states=(gone,))
    assert ranks_of_ends(both.ends) == ranks(1)


def test_a_rank_whose_open_call_is_done_elsewhere_does_not_get_on_by_itself() -> None:
    stalled = RankState(ranks=ranks(2), stalled=True)
    assert ranks_of_ends(analysed(wait("a", [0, 1], held=[2]), states=(stalled,)).ends) == ranks(2)


@pytest.mark.parametrize("seed", range(30))
def test_against_a_slow_search_from_every_rank(seed: int) -> None:
    """Ends and victims by the definition: who is reached, and who is reached from there."""
    random_ = random.Random(seed)
    world = range(14)
    waits: list[Wait] = []
    free = set(world)
    while len(free) > 3:
        some = random_.sample(sorted(free), random_.randint(1, 3))
        free -= set(some)
        others = [rank for rank in world if rank not in some]
        waits.append(wait(str(len(waits)), some, random_.sample(others, random_.randint(0, 3))))
    after = {r: w.awaited for w in waits for r in w.waiters}
    reached: dict[int, set[int]] = {}
    for rank in world:
        todo = list(after.get(Rank(rank), ()))
        reached[rank] = set()
        while todo:
            other = todo.pop()
            if other not in reached[rank]:
                reached[rank].add(other)
                todo += after.get(other, ())
    found = analysed(*waits)
    ends = {r for some in reached.values() for r in some if r not in after}
    assert ranks_of_ends(found.ends) == ends
    graph = WaitGraph(found.waits)
    for end in found.ends:
        assert graph.victims(end.rank) == {r for r in world if end.rank in reached[r]} - {end.rank}
        assert end.chain[-1] in end.lacks
    in_cycles = {r for r in world if any(r in reached[o] for o in reached[r] if o != r)}
    told = NO_RANKS.union(*(cycle.ranks for cycle in found.cycles))
    assert told <= {r for r in in_cycles if r in reached[r]}
    assert (told == NO_RANKS) == all(r not in reached[r] for r in world)


def calls_of(work: Callable[[], object]) -> int:
    """Function calls: unlike seconds, the same on every machine."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def look_at_meshes(size: int, tensor: int = 8) -> None:
    """One rank stays away from its tensor group; the data groups wait for its group, and so on."""
    waits = [wait("tp0", range(1, tensor), [0])]
    for lane in range(tensor):
        members = range(lane, size, tensor)
        waits.append(wait(f"dp{lane}", members[1:], [members[0]]))
    found = analysed(*waits)
    assert ranks_of_ends(found.ends) == ranks(0)
    assert len(WaitGraph(found.waits).victims(Rank(0))) == size - 1


def follow(ranks: int) -> None:
    """A chain and a ring of so many ranks."""
    chain = [wait(f"p{r}", [r], [r + 1]) for r in range(ranks - 1)]
    ring = [wait(f"p{r}", [r], [(r + 1) % ranks]) for r in range(ranks)]
    found, closed = analysed(*chain), analysed(*ring)
    assert [(end.rank, len(end.chain)) for end in found.ends] == [(ranks - 1, ranks - 1)]
    assert [len(cycle.ranks) for cycle in closed.cycles] == [ranks]


@pytest.mark.parametrize("work", [follow, look_at_meshes])
def test_four_times_the_ranks_take_four_times_the_calls(work: Callable[[int], None]) -> None:
    assert calls_of(lambda: work(16_384)) < 5 * calls_of(lambda: work(4_096))


def look_at(world: int) -> None:
    """A thousand calls, each of which all members but two are silent of."""
    unseen = RankSpans.below(world) - {0, 1}
    found = analysed(*(replace(wait(f"g{n}", [0, 1]), unknown=unseen) for n in range(1_000)))
    assert found.undecided is not None
    assert len(found.undecided.ranks) == len(unseen)
    assert len(json.dumps(to_json(found.snapshot))) < 1_000_000


def test_ranks_of_a_job_whose_size_is_only_claimed_cost_nothing() -> None:
    assert calls_of(lambda: look_at(1 << 17)) < 2 * calls_of(lambda: look_at(1 << 7))
