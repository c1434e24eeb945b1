"""Who waits in which call for whom, from counters and stacks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.live_jobs import PLACES, waiting_in
from unhang.live.judge.named_waits import names_a_rank
from unhang.live.judge.stack_waits import is_by_stack, is_pairwise
from unhang.live.judge.track import Track, begin
from unhang.live.judge.waits import find_waits, take_snapshot
from unhang.live.messages.reports import (
    Beat,
    FramePlace,
    GroupBeat,
    Issued,
    ProcessFacts,
    ProcessReport,
)
from unhang.model.ids import Rank
from unhang.model.stack_states import Doing
from unhang.model.waits import Life, Wait

WAITING = waiting_in("all_reduce")
RECEIVING = waiting_in("recv")
WORKING = PLACES["step"]
SYNC = (FramePlace("/env/site-packages/torch/cuda/__init__.py", 900, "synchronize"), *WORKING)


def group(enqueued: int | None, completed: int | None, started: int = -1) -> GroupBeat:
    ranks = tuple(Rank(r) for r in range(3))
    return GroupBeat(name="0", ranks=ranks, enqueued=enqueued, completed=completed, started=started)


def track(
    rank: int,
    stack: tuple[FramePlace, ...],
    told: GroupBeat | None,
    *,
    alive: bool = True,
    state: str = "S",
    still_s: float = 5.0,
    silent_s: float = 0.0,
    call: Issued | None = None,
    calling: str | None = None,
    lock_holder: int | None = None,
) -> Track:
    beat = Beat(
        host="gn1",
        pid=40 + rank,
        rank=Rank(rank),
        stack=stack,
        groups={} if told is None else {"0": told},
        call=call,
        calling=calling,
    )
    facts = ProcessFacts(alive=alive, state=state, lock_holder=lock_holder)
    found = begin(ProcessReport(beat=beat, facts=facts, beats=1, beat_age_s=0.0), 0.0)
    found.still.whole_s = found.still.place_s = found.still.calls_s = still_s
    found.still.beat_s = silent_s
    return found


def waits(*tracks: Track) -> list[Wait]:
    by_rank = {t.rank: t for t in tracks if t.rank is not None}
    return list(find_waits(by_rank, len(tracks)))


def shown(wait: Wait) -> tuple[list[int], list[int], list[int], int | None]:
    return sorted(wait.waiters), sorted(wait.ahead), sorted(wait.awaited), wait.call.seq


MAKING = waiting_in("new_group")


def test_who_makes_a_group_waits_for_its_members_that_make_another_one() -> None:
    """Rank 2 has left out an earlier group: what it makes next has the name of that one."""
    world, early = group(5, 5), GroupBeat(name="1", ranks=(Rank(0), Rank(1)))
    everybody = tuple(Rank(r) for r in range(3))
    tracks = [
        track(r, MAKING, world, call=Issued(op="new_group", group="2", ranks=everybody))
        for r in (0, 1)
    ]
    for other in tracks:
        other.beat = replace(other.beat, groups={"0": world, "1": early})
    tracks.append(track(2, MAKING, world, call=Issued(op="new_group", group="1", ranks=everybody)))
    found = {wait.call.group: wait for wait in waits(*tracks)}
    assert {name: shown(wait)[::2] for name, wait in found.items()} == {
        "2": ([0, 1], [2]),
        "1": ([2], [0, 1]),
    }
    assert all(map(is_by_stack, found.values()))


def test_groups_that_are_made_beside_each_other_hold_up_nobody_else() -> None:
    made = [
        track(r, MAKING, None, call=Issued(op="new_group", group=name, ranks=ranks))
        for name, ranks in (("a", (Rank(0), Rank(1))), ("b", (Rank(2), Rank(3))))
        for r in ranks
    ]
    assert [shown(wait)[::2] for wait in waits(*made)] == [([0, 1], []), ([2, 3], [])]


def test_a_member_that_issued_fewer_calls_is_lacking() -> None:
    (wait,) = waits(
        track(0, WAITING, group(8, 7)),
        track(1, WAITING, group(8, 7)),
        track(2, WORKING, group(7, 7)),
    )
    assert shown(wait) == ([0, 1], [], [2], 8)


def test_calls_in_flight_of_a_rank_that_works_are_no_wait() -> None:
    assert waits(*(track(r, WORKING, group(8, 7), still_s=0.5) for r in range(3))) == []


def test_a_member_that_went_on_alone_waits_further_on() -> None:
    (wait,) = waits(
        track(0, WAITING, group(9, 8)),
        track(1, WAITING, group(9, 8)),
        track(2, WAITING, group(8, 7)),
    )
    assert shown(wait) == ([2], [0, 1], [], 8)


def test_pairs_pull_the_numbers_apart_and_then_who_waits_nowhere_is_lacking() -> None:
    """Ranks 0 and 1 exchanged something by themselves: their numbers are higher for ever."""
    (wait,) = waits(
        track(0, WORKING, group(9, 9)),
        track(1, WORKING, group(9, 9)),
        track(2, WAITING, group(8, 7)),
    )
    assert shown(wait) == ([2], [], [0, 1], 8)


def test_who_stands_in_a_receive_has_not_issued_the_call_of_the_others() -> None:
    """Ten messages ago, rank 1 was ahead of rank 2; it is one receive from the call of all."""
    received, call = waits(
        track(0, WAITING, group(219, 218), call=Issued(op="all_reduce")),
        track(1, RECEIVING, group(219, 218), call=Issued(op="recv", src=Rank(0))),
        track(2, WAITING, group(21, 20), call=Issued(op="all_reduce")),
    )
    assert shown(received) == ([1], [], [0], None)
    assert shown(call) == ([2], [0], [1], 21)


def test_a_dead_member_is_lacking_whatever_it_had_issued() -> None:
    (wait,) = waits(
        track(0, WAITING, group(8, 7)),
        track(1, WAITING, group(8, 7)),
        track(2, WAITING, group(8, 7), alive=False),
    )
    assert shown(wait) == ([0, 1], [], [2], 8)


def test_a_frozen_member_that_had_issued_the_call_is_not_what_is_waited_for() -> None:
    (wait,) = waits(
        track(0, WAITING, group(8, 7)),
        track(1, WAITING, group(8, 7)),
        track(2, WAITING, group(8, 7), silent_s=9.0),
    )
    assert shown(wait) == ([0, 1], [], [], 8)


def test_a_stopped_member_is_even_if_it_had_issued_the_call() -> None:
    (wait,) = waits(
        track(0, WAITING, group(8, 7)),
        track(1, WAITING, group(8, 7)),
        track(2, WAITING, group(8, 7), state="T", silent_s=9.0),
    )
    assert shown(wait) == ([0, 1], [], [2], 8)


def test_a_gpu_that_has_not_come_to_the_call_is_what_the_others_wait_for() -> None:
    (wait,) = waits(
        track(0, SYNC, group(12, 7, started=8)),
        track(1, SYNC, group(12, 7, started=8)),
        track(2, SYNC, group(12, 7, started=7)),
    )
    assert shown(wait) == ([0, 1], [], [2], 8)


def test_nobody_waits_while_no_gpu_has_come_to_the_call() -> None:
    assert waits(*(track(r, SYNC, group(12, 7, started=7)) for r in range(3))) == []


def test_without_counters_the_stacks_tell() -> None:
    (wait,) = waits(track(0, WAITING, None), track(1, WAITING, None), track(2, WORKING, None))
    assert shown(wait) == ([0, 1], [], [2], None)
    assert is_by_stack(wait)


def test_ranks_that_nobody_has_seen_are_unknown_and_not_lacking() -> None:
    found = find_waits({Rank(0): track(0, WAITING, None)}, 3)
    assert [sorted(w.unknown) for w in found] == [[1, 2]]
    assert [sorted(w.awaited) for w in found] == [[]]


def test_a_receive_is_known_as_one_of_pairs() -> None:
    stacks = ((RECEIVING, group(8, 7)), (WORKING, group(6, 6)), (WORKING, group(6, 6)))
    tracks = {Rank(r): track(r, *told) for r, told in enumerate(stacks)}
    (wait,) = find_waits(tracks, 3)
    assert is_pairwise(wait, tracks)


def test_a_snapshot_says_what_those_do_that_do_not_wait() -> None:
    tracks = {
        Rank(0): track(0, WAITING, group(8, 7)),
        Rank(1): track(1, WORKING, group(7, 7), still_s=0.0),
        Rank(2): track(2, WORKING, group(7, 7), alive=False),
        Rank(3): track(3, WORKING, group(7, 7), still_s=0.0),
    }
    states = take_snapshot(tracks, 4, 1_700_000_000.0).states
    assert [(sorted(s.ranks), s.life, s.activity, s.moved) for s in states] == [
        ([1, 3], Life.ALIVE, Doing.CODE, True),
        ([2], Life.GONE, None, False),
    ]


C10D = "/env/site-packages/torch/distributed/distributed_c10d.py"
MEETING = (
    FramePlace(C10D, 2169, "_new_process_group_helper"),
    FramePlace(C10D, 1899, "init_process_group"),
    *WORKING[-1:],
)
SEEKING = (
    FramePlace("/env/site-packages/torch/distributed/rendezvous.py", 190, "_create_c10d_store"),
    *MEETING[1:],
)


def test_a_rank_that_does_not_find_the_store_is_what_the_others_wait_for() -> None:
    (wait,) = waits(track(0, MEETING, None), track(1, MEETING, None), track(2, SEEKING, None))
    assert shown(wait) == ([0, 1], [], [2], None)


def test_the_host_of_the_store_waits_in_the_same_place() -> None:
    (wait,) = waits(track(0, SEEKING, None), track(1, MEETING, None), track(2, MEETING, None))
    assert shown(wait) == ([0, 1, 2], [], [], None)


def test_nobody_is_late_while_all_look_for_the_store() -> None:
    (wait,) = waits(track(0, SEEKING, None), track(1, SEEKING, None))
    assert shown(wait) == ([0, 1], [], [], None)


def test_who_makes_its_first_group_does_not_wait_for_members_that_are_further_on() -> None:
    """One rank is connected and trains; the others still connect, which may be the network's."""
    starting = waiting_in("init_process_group")
    found = waits(
        track(0, WAITING, group(1, 0)), track(1, starting, None), track(2, starting, None)
    )
    assert [shown(wait) for wait in found] == [([1, 2], [], [], None), ([0], [], [1, 2], 1)]


def receives(rank: int, source: int) -> Track:
    call = Issued(op="recv", src=Rank(source))
    return track(rank, RECEIVING, group(3, 3), call=call)


def test_a_rank_that_receives_waits_for_its_source_alone() -> None:
    found = waits(receives(0, 2), receives(1, 0), receives(2, 1))
    assert [shown(wait)[::2] for wait in found] == [([0], [2]), ([1], [0]), ([2], [1])]
    assert all(names_a_rank(wait) for wait in found)


def test_a_send_and_its_receive_are_on_their_way() -> None:
    call = Issued(op="send", dst=Rank(1))
    sends = track(0, waiting_in("send"), group(3, 3), call=call)
    (wait,) = waits(sends, receives(1, 0))
    assert (wait.waiters, wait.awaited) == (frozenset({0, 1}), frozenset())


def test_a_send_and_a_receive_under_another_tag_wait_for_each_other() -> None:
    sends = track(0, waiting_in("send"), group(3, 3), call=Issued(op="send", dst=Rank(1), tag=3))
    wants = Issued(op="recv", src=Rank(0), tag=2)
    found = waits(sends, track(1, waiting_in("recv"), group(3, 3), call=wants))
    assert {(min(w.waiters), min(w.awaited)) for w in found} == {(0, 1), (1, 0)}


def test_who_waits_for_the_lock_of_a_file_waits_for_its_holder() -> None:
    (lock, barrier) = sorted(
        waits(
            track(0, waiting_in("barrier"), group(8, 7)),
            track(1, PLACES["code"], group(7, 7), lock_holder=40),
            track(2, waiting_in("barrier"), group(8, 7)),
        ),
        key=lambda wait: len(wait.waiters),
    )
    assert shown(lock)[::2] == ([1], [0])
    assert shown(barrier)[::2] == ([0, 2], [1])


def test_a_lock_that_a_stranger_holds_is_nobody_s_wait() -> None:
    (wait,) = waits(
        track(0, WAITING, group(8, 7)),
        track(1, PLACES["code"], group(7, 7), lock_holder=9_999),
        track(2, WAITING, group(8, 7)),
    )
    assert shown(wait)[::2] == ([0, 2], [1])


def test_the_source_of_a_broadcast_tells_calls_of_one_number_apart() -> None:
    """Rank 1 has its first part of two, and is further on in the same call."""
    stack = waiting_in("broadcast_object_list")
    ours, other = (Issued(op="broadcast_object_list", src=Rank(r)) for r in (0, 2))
    (wait,) = waits(
        track(0, stack, group(8, 7), call=ours),
        track(1, stack, group(9, 8), call=ours),
        track(2, stack, group(8, 7), call=other),
    )
    assert {v.kind.op: sorted(v.ranks) for v in wait.variants} == {
        "broadcast_object_list(src=0)": [0, 1],
        "broadcast_object_list(src=2)": [2],
    }


@pytest.mark.parametrize(
    ("wanted", "sides"),
    [(1, [[0, 1, 3], [2]]), (2, [[0], [2]])],
    ids=["of one that is past the call", "itself"],
)
def test_who_waits_for_a_source_that_is_past_the_call_meant_another_than_all_that_are(
    wanted: int, sides: list[list[int]]
) -> None:
    stack = waiting_in("broadcast")
    ours, other = (Issued(op="broadcast", src=Rank(r)) for r in (0, wanted))
    beyond = waiting_in("barrier")
    (wait, *_) = waits(
        track(0, stack, group(8, 7), call=ours),
        track(1, beyond, group(9, 8), call=Issued(op="barrier")),
        track(2, stack, group(8, 7), call=other),
        track(3, beyond, group(9, 8), call=Issued(op="barrier")),
    )
    assert sorted(sorted(v.ranks) for v in wait.variants) == sides


SLEEPS = (FramePlace("/home/u/train.py", 30, "pause"),)


def test_a_stale_counter_of_a_rank_that_is_seen_elsewhere_makes_no_waiter() -> None:
    """gloo notes what ended last, so that calls which ended out of order seem to be open."""
    (wait,) = waits(
        track(0, WAITING, group(8, 7)),
        track(1, SLEEPS, group(7, 6), calling="sleep"),
        track(2, WAITING, group(8, 7)),
    )
    assert shown(wait) == ([0, 2], [], [1], 8)
