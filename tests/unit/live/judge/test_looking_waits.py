"""Ranks that look, in a loop of their own, for what another rank is to leave."""

from __future__ import annotations

from dataclasses import replace

from support.live_jobs import PLACES, waiting_in
from unhang.live.judge.checkpoints import Checkpoints
from unhang.live.judge.claims import find_claims
from unhang.live.judge.patience import Patience
from unhang.live.judge.track import Track, begin
from unhang.live.judge.usual_durations import UsualDurations
from unhang.live.judge.waits import find_waits, take_snapshot
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.live.messages.reports import (
    Beat,
    FramePlace,
    GroupBeat,
    ProcessFacts,
    ProcessReport,
    Raised,
)
from unhang.model.ids import Rank
from unhang.waitgraph import analyse

LOOP = (FramePlace("/home/u/train.py", 31, "await_shards"), *PLACES["code"][-1:])


def rank(
    number: int,
    stack: tuple[FramePlace, ...] = LOOP,
    *,
    woken: bool = True,
    cpu: float = 0.01,
    issued: int = 200,
    open_: int = 0,
    exit_code: int | None = None,
) -> Track:
    """One that has been in the same functions for half an hour, and slept most of it."""
    group = GroupBeat(
        name="0",
        ranks=tuple(Rank(r) for r in range(4)),
        enqueued=issued + open_,
        completed=issued,
    )
    ended = exit_code is not None
    beat = Beat(
        host="gn1",
        pid=40 + number,
        rank=Rank(number),
        stack=stack,
        groups={"0": group},
        state="exiting" if ended else "running",
    )
    facts = ProcessFacts(alive=not ended, state=None if ended else "S", exit_code=exit_code)
    track = begin(ProcessReport(beat=beat, facts=facts, beats=9, beat_age_s=0.0), 0.0)
    still = track.still
    still.lifeless_s = still.ended_s = still.place_s = still.calls_s = 1_800.0
    track.progress_s = -1_800.0
    still.whole_s = 0.0 if woken else 1_800.0
    track.looks, track.cpu_share = 9, cpu
    if woken:
        track.signs["switches"] = 0.2
    return track


def awaited(*tracks: Track) -> list[tuple[set[int], set[int]]]:
    by_rank = {t.rank: t for t in tracks if t.rank is not None}
    return [(set(w.waiters), set(w.awaited)) for w in find_waits(by_rank, len(tracks))]


def test_who_has_ended_before_it_left_its_mark_is_suspected_and_the_job_never_ended() -> None:
    tracks = {t.rank: t for t in (rank(0), rank(1), rank(2, exit_code=0), rank(3)) if t.rank}
    tracks[Rank(0)] = rank(0)
    patience = Patience(UsualDurations(), Checkpoints())
    (claim,) = find_claims(tracks, analyse(take_snapshot(tracks, 4)), patience)
    assert (set(claim.culprits), set(claim.victims)) == ({2}, {0, 1, 3})
    assert (claim.charge, claim.stage) == (SuspicionReason.LEFT, Stage.SUSPECTED)
    assert claim.call.op == "await_shards (train.py:31)"


def test_of_ranks_that_live_those_that_stand_still_are_looked_for() -> None:
    """Rank 3 has ended, and may have had nothing more to do."""
    stands = rank(2, PLACES["lock"], woken=False)
    assert awaited(rank(0), rank(1), stands, rank(3, exit_code=0)) == [({0, 1}, {2})]


def test_who_is_at_work_is_looked_for_where_as_many_look() -> None:
    assert awaited(rank(0), rank(1), rank(2, PLACES["eval"], cpu=0.9)) == [({0, 1}, {2})]
    assert awaited(rank(0), rank(1, PLACES["eval"], cpu=0.9)) == [({0}, {1})]
    assert awaited(rank(0), rank(1, cpu=0.9), rank(2, PLACES["eval"], cpu=0.9)) == []


def test_where_somebody_waits_in_a_call_that_tells_more() -> None:
    found = awaited(rank(0, waiting_in("all_reduce"), open_=1, woken=False), rank(1), rank(2))
    assert found == [({0}, {1, 2})]


def test_a_rank_that_sleeps_and_never_wakes_does_not_look() -> None:
    assert awaited(rank(0, woken=False), rank(1, exit_code=0)) == []


def test_who_looks_for_a_file_is_found_in_python_itself_and_gives_up_like_the_others() -> None:
    exists = (FramePlace("/usr/lib/python3.11/genericpath.py", 19, "exists"), *LOOP)
    raised = rank(3, exit_code=1)
    raised.beat = replace(raised.beat, exception=Raised(type="KeyError", message="'part'"))
    assert awaited(rank(0, exists), rank(1), rank(2, exit_code=0), raised) == [({0, 1}, {2})]


def test_before_the_first_step_some_ranks_only_serve_the_others() -> None:
    serves = rank(2, PLACES["server"], woken=False, issued=1)
    assert awaited(rank(0, issued=1), rank(1, issued=1), serves) == []
    assert awaited(rank(0, issued=1), rank(1, issued=1), rank(2, exit_code=0)) != []


def test_a_job_whose_ranks_all_look_for_something_waits_for_nobody_in_it() -> None:
    assert awaited(rank(0), rank(1), rank(2)) == []
