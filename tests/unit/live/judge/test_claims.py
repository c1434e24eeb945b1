"""What is held against whom where a link broke a call."""

from __future__ import annotations

from support.live_jobs import waiting_in
from unhang.live.judge.checkpoints import Checkpoints
from unhang.live.judge.claims import Claim, find_claims
from unhang.live.judge.patience import Patience
from unhang.live.judge.track import Track, begin
from unhang.live.judge.usual_durations import UsualDurations
from unhang.live.judge.waits import take_snapshot
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.live.messages.reports import Beat, GroupBeat, ProcessFacts, ProcessReport, Raised
from unhang.model.ids import NO_RANKS, Rank
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
