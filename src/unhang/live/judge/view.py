"""From the monitor's memory to the `JobSnapshot` that screens and the run record show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from unhang.live.judge.claim import GRAVITY, Claim
from unhang.live.judge.hang_incidents import HangIncidents
from unhang.live.judge.roster import Roster
from unhang.live.judge.sentences import ending, ending_of, reason
from unhang.live.judge.track import Track
from unhang.live.judge.usual_durations import UsualDurations
from unhang.live.judge.wait_details import open_calls, waited_s
from unhang.live.judge.waits import GroupKey, is_waiting
from unhang.live.messages.job_snapshot import (
    Condition,
    Edge,
    GroupView,
    HostView,
    JobSnapshot,
    RankClass,
    RankView,
    Stage,
    Suspicion,
    SuspicionReason,
)
from unhang.live.messages.losses import gather
from unhang.live.messages.reports import GroupBeat, losses_of_ranks
from unhang.model.ids import Rank
from unhang.model.waits import Snapshot, Wait

_STILL_S = 3.0
_WORTH_SHOWING_S = 2.0


def view(
    roster: Roster,
    snapshot: Snapshot,
    incidents: HangIncidents,
    usual: UsualDurations,
    confirmed: Suspicion | None,
    *,
    held: Snapshot,
    now_s: float,
    began_s: float,
    ended_well: bool = False,
) -> JobSnapshot:
    """Return the whole view at the monitor's time `now_s`; its first report came at `began_s`.

    `held` is the last snapshot with what is held against somebody; it outlives the ranks.
    `ended_well` tells that the command has ended, and everything with it, without a fault.
    `confirmed` is the hang that stands, as it was when it was confirmed.
    """
    ranks = tuple(
        _as_judged(_rank(r, roster.by_rank[r], roster, now_s), confirmed)
        for r in sorted(roster.by_rank)
    )
    hosts = sorted(roster.hosts.values(), key=lambda h: h.name)
    lost = [replace(loss, host=h.name) for h in hosts for loss in h.lost]
    lost += losses_of_ranks(track.beat for track in roster.by_rank.values())
    times = (track.beat.process_started_s for track in roster.by_rank.values())
    started = [seconds for seconds in times if seconds is not None]
    return JobSnapshot(
        at_s=max((h.wall_s for h in hosts), default=0.0),
        up_s=now_s - began_s,
        world_size=roster.world_size,
        restart=roster.restart,
        began_s=min(started, default=None),
        ended_well=ended_well,
        ranks=ranks,
        classes=_classes(ranks),
        groups=_groups(roster.by_rank, snapshot.waits),
        edges=tuple(
            Edge(waiters=w.waiters, on=w.awaited, call=w.call, since_s=w.waited_s or 0.0)
            for w in snapshot.waits
        ),
        suspicions=_suspicions(incidents, confirmed, roster.by_rank),
        hosts=tuple(
            HostView(
                host=h.name,
                age_s=now_s - h.heard_s,
                ranks=frozenset(roster.seated_on(h.name)),
                launcher_alive=h.launcher_alive,
            )
            for h in hosts
        ),
        lost=gather(lost),
        snapshot=held,
        phases_s=usual.phases_s(),
    )


def _rank(rank: Rank, track: Track, roster: Roster, now_s: float) -> RankView:
    beat, place = track.beat, track.place
    condition = _condition(track, unseen=roster.unseen(track, now_s))
    waits = condition is Condition.WAITING
    group = next(iter(open_calls(track)), None) if waits else None
    return RankView(
        rank=rank,
        host=beat.host,
        pid=beat.pid,
        local_rank=beat.local_rank,
        restart=beat.restart,
        condition=condition,
        since_s=round(_since(track, condition, now_s), 3),
        phase=place.phase,
        op=place.op if waits else None,
        place=place.place,
        group=None if group is None else group.name,
        seq=None if group is None or group.completed is None else group.completed + 1,
        steps=beat.steps,
        step_s=track.step_s,
        cpu_share=track.cpu_share,
        rss_bytes=beat.rss_bytes,
        read_bytes=beat.read_bytes,
        write_bytes=beat.write_bytes,
        read_rate=track.read_rate,
        write_rate=track.write_rate,
        gpu_bytes=beat.gpu_bytes,
        beat_age_s=round(track.beat_age_s + max(0.0, now_s - track.seen_s), 3),
        exception=ending(track) if beat.exception is not None else None,
        signal=track.facts.signal,
        exit_code=track.facts.exit_code,
    )


_STOOD = {SuspicionReason.GIL_KEPT: Condition.FROZEN, SuspicionReason.SILENT: Condition.FROZEN}


def _as_judged(rank: RankView, confirmed: Suspicion | None) -> RankView:
    """A culprit of the hang that stands is no rank at work because a capture has touched it."""
    if confirmed is None or rank.rank not in confirmed.culprits:
        return rank
    if rank.condition not in {Condition.WORKING, Condition.STILL}:
        return rank
    still_s = max(rank.since_s, round(confirmed.still_s or confirmed.since_s, 3))
    return replace(rank, condition=_STOOD.get(confirmed.charge, Condition.STILL), since_s=still_s)


def _condition(track: Track, *, unseen: bool) -> Condition:
    if track.ended:
        return Condition.GONE if track.failed else Condition.LEFT
    if unseen:
        return Condition.UNSEEN
    if track.beat.exception is not None or track.beat.state == "raising":
        return Condition.RAISING
    if track.beat.state == "exiting":
        return Condition.LEAVING
    if track.stopped:
        return Condition.STOPPED
    if track.beats_late:
        return Condition.FROZEN
    if is_waiting(track):
        return Condition.WAITING
    return Condition.STILL if track.still.whole_s >= _STILL_S else Condition.WORKING


def _since(track: Track, condition: Condition, now_s: float) -> float:
    still = track.still
    match condition:
        case Condition.GONE | Condition.LEFT:
            return still.ended_s
        case Condition.UNSEEN:
            return now_s - track.seen_s
        case Condition.RAISING | Condition.LEAVING:
            return still.leaving_s
        case Condition.STOPPED:
            return still.stopped_s
        case Condition.FROZEN:
            return still.beat_s
        case Condition.WAITING:
            return waited_s(track)
        case Condition.STILL:
            return still.whole_s
        case Condition.WORKING:
            return still.place_s


def _classes(ranks: Iterable[RankView]) -> tuple[RankClass, ...]:
    found: dict[tuple[object, ...], list[RankView]] = {}
    for rank in ranks:
        key = (rank.condition, rank.phase, rank.op, rank.op or rank.place)
        found.setdefault(key, []).append(rank)
    classes = [
        RankClass(
            ranks=frozenset(r.rank for r in members),
            condition=members[0].condition,
            phase=members[0].phase,
            op=members[0].op,
            place=members[0].place,
            since_s=max(r.since_s for r in members),
        )
        for members in found.values()
    ]
    return tuple(sorted(classes, key=lambda c: (-len(c.ranks), min(c.ranks))))


def _groups(tracks: Mapping[Rank, Track], waits: Iterable[Wait]) -> tuple[GroupView, ...]:
    told: dict[GroupKey, list[tuple[Track, GroupBeat]]] = {}
    same: dict[tuple[str, int], list[tuple[Track, GroupBeat]]] = {}
    """By the identity of the members, as in `find_waits`."""
    for track in tracks.values():
        for group in track.beat.groups.values():
            members = same.get((group.name, id(group.ranks)))
            if members is None:
                members = told.setdefault((group.name, group.ranks), [])
                same[group.name, id(group.ranks)] = members
            members.append((track, group))
    stuck = {(w.call.group, frozenset(w.call.members)): w for w in waits}
    found = [_group(members, stuck) for members in told.values()]
    return tuple(sorted(found, key=lambda g: (-len(g.members), g.name)))


def _group(
    told: Sequence[tuple[Track, GroupBeat]],
    stuck: Mapping[tuple[str | None, frozenset[Rank]], Wait],
) -> GroupView:
    first = told[0][1]
    listed = first.ranks or tuple(t.rank for t, _ in told if t.rank is not None)
    members = frozenset(listed)
    wait = stuck.get((first.name, members))
    limits = [g.timeout_ms for _, g in told if g.timeout_ms is not None]
    governed = [t.beat.governed_ms[g.name] for t, g in told if g.name in t.beat.governed_ms]
    return GroupView(
        name=first.name,
        description=first.desc,
        backend=first.backend,
        members=members,
        issued=_span(g.enqueued for _, g in told),
        completed=_span(g.completed for _, g in told),
        waiting=frozenset() if wait is None else wait.waiters,
        lacking=frozenset() if wait is None else wait.awaited,
        since_s=None if wait is None else wait.waited_s,
        timeout_ms=min(limits, default=None),
        user_timeout_ms=first.user_timeout_ms,
        governed_ms=min(governed, default=None),
    )


def _span(numbers: Iterable[int | None]) -> tuple[int, int] | None:
    known = [n for n in numbers if n is not None]
    return (min(known), max(known)) if known else None


def _suspicions(
    incidents: HangIncidents, confirmed: Suspicion | None, tracks: Mapping[Rank, Track]
) -> tuple[Suspicion, ...]:
    """Open cases; the confirmed hang as it was then, for what captures it may disturb it."""
    found = [
        suspicion(case.claim, case.stage, tracks)
        for case in incidents.cases.values()
        if case.stage is not Stage.CONFIRMED
        and (case.stage is Stage.SUSPECTED or case.claim.waited_s >= _WORTH_SHOWING_S)
    ]
    found += [suspicion(claim, stage, tracks) for claim, stage in incidents.unresolved.values()]
    if confirmed is not None and incidents.confirmed is not None:
        found.append(replace(confirmed, since_s=incidents.confirmed.waited_s))
    return tuple(sorted(found, key=lambda s: (-GRAVITY[s.stage], -s.since_s)))


def suspicion(claim: Claim, stage: Stage, tracks: Mapping[Rank, Track]) -> Suspicion:
    """A claim as it is shown."""
    return Suspicion(
        culprits=claim.culprits,
        victims=claim.victims,
        charge=claim.charge,
        stage=stage,
        phase=claim.phase,
        by_name=claim.phase is not None and not claim.borne_out,
        call=claim.call,
        since_s=claim.waited_s,
        still_s=claim.still_s,
        place=claim.place,
        told=ending_of(claim, tracks),
        move=claim.move,
        due=claim.due,
        why=reason(claim, tracks),
    )
