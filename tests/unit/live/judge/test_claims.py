"""What is held against whom where nobody outside of the waits is to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.live_jobs import PLACES, waiting_in
from unhang.live.judge.beat_stacks import where
from unhang.live.judge.checkpoints import Checkpoints
from unhang.live.judge.claim import Claim
from unhang.live.judge.claims import _beside_work, find_claims
from unhang.live.judge.patience import Patience
from unhang.live.judge.track import Track, begin
from unhang.live.judge.usual_durations import UsualDurations
from unhang.live.judge.waits import take_snapshot
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.live.messages.reports import (
    Beat,
    Course,
    FramePlace,
    GroupBeat,
    Issued,
    ProcessFacts,
    ProcessReport,
    Raised,
)
from unhang.model.ids import NO_RANKS, Rank
from unhang.model.waits import CallRef
from unhang.waitgraph import analyse

LINK = Raised(type="RuntimeError", message="gloo: Connection closed by peer [10.0.0.1]:4711")
OWN = Raised(type="KeyError", message="'labels'")


def track(rank: int, raised: Raised | None, lasted_s: float) -> Track:
    """A rank of three that waits, or that an exception ended in the call of the others."""
    group = GroupBeat(
        name="0",
        ranks=tuple(Rank(r) for r in range(3)),
        enqueued=8 if raised is None else 7,
        completed=7,
    )
    beat = Beat(
        host="gn1",
        pid=40 + rank,
        rank=Rank(rank),
        stack=waiting_in("all_reduce"),
        groups={"0": group},
        state="running" if raised is None else "raising",
        exception=raised,
    )
    facts = ProcessFacts(alive=raised is None, state="S", exit_code=None if raised is None else 1)
    found = begin(ProcessReport(beat=beat, facts=facts, beats=9, beat_age_s=0.0), 0.0)
    found.looks = 9
    still = found.still
    still.whole_s = still.place_s = still.calls_s = still.ended_s = still.leaving_s = lasted_s
    return found


def standing(rank: int, call: Issued, groups: tuple[GroupBeat, ...] = ()) -> Track:
    """A rank that has stood in a call for nine seconds."""
    beat = Beat(
        host="gn1",
        pid=40 + rank,
        rank=Rank(rank),
        stack=waiting_in(call.op),
        groups={group.name: group for group in groups},
        call=call,
    )
    facts = ProcessFacts(alive=True, state="S")
    found = begin(ProcessReport(beat=beat, facts=facts, beats=9, beat_age_s=0.0), 0.0)
    found.looks = 9
    found.still.whole_s = found.still.place_s = found.still.calls_s = 9.0
    return found


def sends(rank: int, to: int, tag: int = 0) -> Track:
    return standing(rank, Issued(op="send", dst=Rank(to), tag=tag))


def receives(rank: int, source: int, tag: int = 0) -> Track:
    return standing(rank, Issued(op="recv", src=Rank(source), tag=tag))


def circle(*tracks: Track) -> Claim:
    by_rank = {t.rank: t for t in tracks if t.rank is not None}
    patience = Patience(UsualDurations(), Checkpoints())
    (claim,) = find_claims(by_rank, analyse(take_snapshot(by_rank, len(tracks))), patience)
    assert claim.charge is SuspicionReason.CIRCLE
    return claim


@pytest.mark.parametrize(
    ("tracks", "culprits", "victims"),
    [
        ((sends(0, 1), sends(1, 2), sends(2, 3), receives(3, 1)), {3}, {1, 2}),
        ((receives(0, 2), sends(1, 0), receives(2, 1)), {1}, {0, 2}),
        ((receives(0, 3), receives(1, 0), sends(2, 0), receives(3, 2)), {2}, {0, 3}),
        ((sends(0, 1, tag=4), receives(1, 0, tag=5)), {0, 1}, set()),
        ((receives(0, 2), receives(1, 0), receives(2, 1)), {0, 1, 2}, set()),
    ],
    ids=["wrong-source", "wrong-turn", "wrong-destination", "tags", "all-receive"],
)
def test_of_messages_that_miss_each_other_who_stands_out_is_named(
    tracks: tuple[Track, ...], culprits: set[int], victims: set[int]
) -> None:
    claim = circle(*tracks)
    assert (set(claim.culprits), set(claim.victims)) == (culprits, victims)


def test_of_two_that_miss_each_other_who_left_its_habit_is_named_and_ended_no_sooner() -> None:
    lasting_s = {True: (1.6, 5.9, 6.1), False: (1.6, 5.9, 6.1)}
    stages: dict[bool, list[Stage]] = {True: [], False: []}
    for told, times in lasting_s.items():
        for seconds in times:
            ranks = sends(0, 1, tag=4), receives(1, 0, tag=5)
            for found in ranks:
                found.still.place_s = found.still.calls_s = seconds
            astray = Course(fits=False, move="recv(src=0) in f (t.py):4", due="send")
            ranks[1].beat = replace(ranks[1].beat, course=astray if told else None)
            claim = circle(*ranks)
            assert (set(claim.culprits), set(claim.victims)) == (
                ({1}, {0}) if told else ({0, 1}, set())
            )
            assert claim.move == (astray.move if told else "")
            stages[told].append(claim.stage)
    assert stages[True] == stages[False] == [Stage.SUSPECTED, Stage.SUSPECTED, Stage.CONFIRMED]


def test_who_waits_in_a_collective_for_two_that_miss_each_other_is_a_victim() -> None:
    world = counters("0", (0, 1, 2), 8, 7)
    waits = standing(0, Issued(op="all_reduce"), (world,))
    # Their own numbers are higher for ever: they have exchanged messages.
    ahead = counters("0", (0, 1, 2), 12, 12)
    crossing = (
        standing(1, Issued(op="send", dst=Rank(2), tag=1), (ahead,)),
        standing(2, Issued(op="recv", src=Rank(1), tag=2), (ahead,)),
    )
    claim = circle(waits, *crossing)
    assert (set(claim.culprits), set(claim.victims)) == ({1, 2}, {0})


def counters(name: str, ranks: tuple[int, ...], enqueued: int, completed: int) -> GroupBeat:
    members = tuple(Rank(r) for r in ranks)
    desc = "default_pg" if name == "0" else ""
    return GroupBeat(name=name, desc=desc, ranks=members, enqueued=enqueued, completed=completed)


def test_groups_in_another_order_are_between_those_that_had_the_choice() -> None:
    """The pair's members differ; who belongs to the world alone had nothing to choose.

    All tell a call of the world as open that has long ended, as gloo's numbers may.
    """
    late = counters("0", (0, 1, 2), 186, 185), counters("1", (0, 1), 61, 60)
    early = counters("0", (0, 1, 2), 187, 185), counters("1", (0, 1), 60, 60)
    claim = circle(
        standing(0, Issued(op="all_reduce", group="1"), late),
        standing(1, Issued(op="all_reduce"), early),
        standing(2, Issued(op="all_reduce"), early[:1]),
    )
    assert (set(claim.culprits), set(claim.victims)) == ({0, 1}, {2})


def test_where_nobody_in_a_circle_stands_out_it_is_between_all_of_it() -> None:
    """Two rows and two columns, in each of which one waits for the other one."""
    pairs = {name: (int(name[0]), int(name[1])) for name in ("01", "13", "32", "20")}
    held = {name: counters(name, ranks, 8, 7) for name, ranks in pairs.items()}
    rest = {name: counters(name, ranks, 7, 7) for name, ranks in pairs.items()}
    mine = {0: "01", 1: "13", 3: "32", 2: "20"}
    tracks = [
        standing(
            rank,
            Issued(op="all_reduce", group=name),
            (held[name], *(g for n, g in rest.items() if n != name and str(rank) in n)),
        )
        for rank, name in mine.items()
    ]
    claim = circle(*tracks)
    assert (set(claim.culprits), claim.victims) == ({0, 1, 2, 3}, NO_RANKS)


def test_a_call_that_another_one_has_seen_the_end_of_is_not_what_a_handle_awaits() -> None:
    """Rank 2 asks a store in vain; gloo shows its last call as open for ever, and one of rank 0."""
    world = [counters("0", (0, 1, 2), *told) for told in ((14, 11), (14, 12), (12, 11))]
    place = (FramePlace("/home/u/train.py", 16, "<module>"),)
    tracks = {Rank(r): standing(r, Issued(op="all_reduce"), (world[r],)) for r in range(3)}
    for rank, track in tracks.items():
        stack = PLACES["backward"] if rank < 2 else place
        beat = replace(track.beat, call=None, stack=stack, calling="wait" if rank == 2 else None)
        track.beat, track.place = beat, where(beat)
    found = take_snapshot(tracks, 3)
    (claim,) = find_claims(tracks, analyse(found), Patience(UsualDurations(), Checkpoints()))
    assert (claim.charge, set(claim.culprits)) == (SuspicionReason.ASLEEP, {2})
    assert (claim.call.seq, claim.stage) == (13, Stage.SUSPECTED)


def test_who_is_a_call_ahead_does_not_vote_on_the_call_that_the_others_stand_in() -> None:
    """Rank 2 has given its part of the gather; that rank 1 has left it out is what differs."""
    behind, ahead = counters("0", (0, 1, 2), 94, 93), counters("0", (0, 1, 2), 95, 94)
    tracks = {
        Rank(0): standing(0, Issued(op="gather"), (behind,)),
        Rank(1): standing(1, Issued(op="barrier"), (behind,)),
        Rank(2): standing(2, Issued(op="barrier"), (ahead,)),
    }
    (claim,) = find_claims(
        tracks, analyse(take_snapshot(tracks, 3)), Patience(UsualDurations(), Checkpoints())
    )
    assert (claim.charge, set(claim.culprits)) == (SuspicionReason.MISMATCH, {0, 1})


def claims(raised: Raised, lasted_s: float) -> dict[SuspicionReason, Claim]:
    tracks = {Rank(r): track(r, raised if r == 2 else None, lasted_s) for r in range(3)}
    found = find_claims(
        tracks, analyse(take_snapshot(tracks, 3)), Patience(UsualDurations(), Checkpoints())
    )
    return {claim.charge: claim for claim in found}


def test_ranks_that_wait_behind_a_broken_link_hang_through_nobodys_fault() -> None:
    found = claims(LINK, 40.0)
    assert found[SuspicionReason.RAISED].stage is Stage.WATCHED
    hang = found[SuspicionReason.TOGETHER]
    assert (hang.stage, hang.culprits) == (Stage.CONFIRMED, NO_RANKS)
    assert sorted(hang.victims) == [0, 1]


def test_a_launcher_gets_its_time_to_end_the_others() -> None:
    assert claims(LINK, 5.0)[SuspicionReason.TOGETHER].stage is Stage.WATCHED


def test_a_failure_of_its_own_is_told_as_one() -> None:
    found = claims(OWN, 40.0)
    assert found[SuspicionReason.RAISED].stage is Stage.CONFIRMED
    assert SuspicionReason.TOGETHER not in found


@pytest.mark.parametrize(
    ("idle_s", "stage"), [(0.5, Stage.WATCHED), (3.0, Stage.SUSPECTED), (None, Stage.SUSPECTED)]
)
def test_who_gets_no_core_within_a_call_may_yet_end_it(idle_s: float | None, stage: Stage) -> None:
    world = counters("0", (0, 1), 8, 7)
    tracks = {Rank(r): standing(r, Issued(op="all_reduce"), (world,)) for r in range(2)}
    tracks[Rank(1)].signs = {} if idle_s is None else {"no_core": idle_s}
    (claim,) = find_claims(
        tracks, analyse(take_snapshot(tracks, 2)), Patience(UsualDurations(), Checkpoints())
    )
    assert (claim.charge, claim.stage) == (SuspicionReason.TOGETHER, stage)


def held_against(late: tuple[FramePlace, ...], **told: Any) -> Claim:
    """The claim where rank 0 waits in a call that rank 1, which stands elsewhere, lacks."""
    everybody = tuple(Rank(r) for r in range(2))
    tracks = {}
    for rank, (stack, issued) in enumerate(((waiting_in("all_reduce"), 8), (late, 7))):
        world = GroupBeat(name="0", ranks=everybody, enqueued=issued, completed=7)
        beat = Beat(host="gn1", pid=40 + rank, rank=Rank(rank), stack=stack, groups={"0": world})
        beat = replace(beat, **told) if rank else beat
        facts = ProcessFacts(alive=True, state="S")
        track = begin(ProcessReport(beat=beat, facts=facts, beats=9, beat_age_s=0.0), 0.0)
        track.looks = 9
        track.still.whole_s = track.still.place_s = track.still.calls_s = 4.0
        tracks[Rank(rank)] = track
    (claim,) = find_claims(
        tracks, analyse(take_snapshot(tracks, 2)), Patience(UsualDurations(), Checkpoints())
    )
    return claim


def test_who_awaits_a_handle_is_named_by_what_others_wait_for() -> None:
    """Rank 1 waits for something at a store; that rank 0 waits for it in a call is sure."""
    claim = held_against((FramePlace("/home/u/train.py", 11, "<module>"),), calling="wait")
    assert (claim.charge, claim.stage) == (SuspicionReason.ASLEEP, Stage.SUSPECTED)
    assert (set(claim.culprits), claim.call.op) == ({1}, "all_reduce")


def test_of_two_the_one_that_makes_a_group_is_odd() -> None:
    """Rank 0 goes on with the calls of its steps."""
    making = Issued(op="new_group", group="1", ranks=(Rank(0), Rank(1)))
    claim = held_against(waiting_in("new_group"), call=making)
    assert (claim.charge, claim.stage) == (SuspicionReason.CIRCLE, Stage.CONFIRMED)
    assert (set(claim.culprits), claim.call.op) == ({1}, "all_reduce")


@pytest.mark.parametrize(
    ("came_s", "waited_s", "stage"),
    [
        (2.0, 9.0, Stage.SUSPECTED),
        (30.0, 9.0, Stage.WATCHED),
        (30.0, 61.0, Stage.SUSPECTED),
        (900.0, 61.0, Stage.SUSPECTED),
    ],
)
def test_a_rank_that_is_not_there_yet_gets_the_time_that_the_others_took(
    came_s: float, waited_s: float, stage: Stage
) -> None:
    beat = Beat(
        host="gn1",
        pid=40,
        rank=Rank(0),
        process_started_s=1_000.0,
        wall_s=1_000.0 + came_s,
        stack=waiting_in("init_process_group"),
    )
    facts = ProcessFacts(alive=True, state="S")
    first = begin(ProcessReport(beat=beat, facts=facts, beats=9, beat_age_s=0.0), 0.0)
    first.looks = 9
    first.seen_s = first.still.whole_s = first.still.place_s = waited_s
    tracks = {Rank(0): first}
    (claim,) = find_claims(
        tracks, analyse(take_snapshot(tracks, 2)), Patience(UsualDurations(), Checkpoints())
    )
    assert (claim.charge, claim.stage) == (SuspicionReason.NEVER_CAME, stage)
    assert claim.culprits == {1}


@pytest.mark.parametrize(("ranks", "named"), [(2, {0, 1}), (3, set[int]())])
def test_where_all_wait_by_handles_it_is_between_two_or_nobody_can_tell(
    ranks: int, named: set[int]
) -> None:
    """Micro-batches that two stages count differently: gloo numbers no message."""
    tracks = {Rank(r): standing(r, Issued(op="recv")) for r in range(ranks)}
    for one in tracks.values():
        one.beat = replace(one.beat, stack=PLACES["code"], calling="wait", call=None)
        one.place = where(one.beat)
    (claim,) = find_claims(
        tracks, analyse(take_snapshot(tracks, ranks)), Patience(UsualDurations(), Checkpoints())
    )
    assert (set(claim.culprits), claim.stage) == (named, Stage.SUSPECTED)


@pytest.mark.parametrize(
    ("seen_s", "waited_s", "begun", "stage"),
    [
        (9.0, 3.0, False, Stage.SUSPECTED),
        (7.0, 3.0, False, Stage.WATCHED),
        (9.0, 1.0, False, Stage.WATCHED),
        (9.0, 3.0, True, Stage.WATCHED),  # only its host is not heard any more
        (9.0, 8.5, True, Stage.SUSPECTED),
    ],
)
def test_who_was_never_seen_is_suspected_by_how_long_the_others_have_been_there(
    seen_s: float, waited_s: float, begun: bool, stage: Stage
) -> None:
    groups = (counters("0", (0, 1), 8, 7),) if begun else ()
    first = standing(0, Issued(op="init_process_group"), groups)
    first.seen_s, first.still.place_s, first.still.calls_s = seen_s, waited_s, waited_s
    tracks = {Rank(0): first}
    (claim,) = find_claims(
        tracks, analyse(take_snapshot(tracks, 2)), Patience(UsualDurations(), Checkpoints())
    )
    assert (claim.charge, set(claim.culprits), claim.stage) == (
        SuspicionReason.NEVER_CAME,
        {1},
        stage,
    )


def held(charge: SuspicionReason, stage: Stage, patience_s: float | None = None) -> Claim:
    return Claim(
        charge=charge,
        culprits=frozenset({Rank(1)}),
        victims=frozenset({Rank(0)}),
        call=CallRef(),
        waited_s=900.0,
        stage=stage,
        patience_s=patience_s,
    )


@pytest.mark.parametrize("busy", [SuspicionReason.AT_WORK, SuspicionReason.SPINNING])
def test_beside_work_only_a_proof_confirms(busy: SuspicionReason) -> None:
    """What merely stands may wait for the one that works; what is proved is proved."""
    stands = held(SuspicionReason.ASLEEP, Stage.CONFIRMED, patience_s=60.0)
    proved = held(SuspicionReason.NEVER_CAME, Stage.CONFIRMED)
    works = held(busy, Stage.WATCHED)
    stages = [claim.stage for claim in _beside_work([stands, proved, works])]
    assert stages == [Stage.SUSPECTED, Stage.CONFIRMED, Stage.WATCHED]
    assert _beside_work([stands, proved]) == [stands, proved]
