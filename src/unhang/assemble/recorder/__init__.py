"""From the Flight Recorder dumps of all ranks to where the job stands and who holds it up.

Ranks wait for members of their groups that have not issued a call, or that issued it behind another
open one. Following that, over all groups, leads to the ranks that wait for nobody: the suspects.
All others are victims, however many calls of theirs are open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from unhang.assemble.recorder.differences import Found, find_differences
from unhang.assemble.recorder.stands import Place, Stands, reachable
from unhang.assemble.recorder.teams import Recordings, Team, find_teams
from unhang.model.events import GroupRef
from unhang.model.events.recorder import DumpRead
from unhang.model.ids import NO_RANKS, Rank, Ranks, SeqId
from unhang.model.incident import Call, Join
from unhang.model.provenance import Provenance
from unhang.model.recording import LastCall, Recording
from unhang.model.standstill import Camp, Difference, Role, Standstill, Suspect, Wait

_SAME_MOMENT_S = 60.0


def find_standstill(dumps: Iterable[DumpRead], world_size: int | None) -> Standstill | None:
    """Judge the dumps of one job; None where no dump says whose it is."""
    sources: dict[Rank, DumpRead] = {}
    for dump in dumps:
        rank = dump.recording.rank
        if rank is not None and (rank not in sources or _is_better(dump, sources[rank])):
            sources[rank] = dump
    if not sources:
        return None
    return _Judge(sources, world_size).standstill()


def _is_better(dump: DumpRead, other: DumpRead) -> bool:
    """Of two dumps of one rank the later one; of two forms of one dump that with stacks."""
    return _worth(dump.recording, other.recording) > _worth(other.recording, dump.recording)


def _worth(recording: Recording, other: Recording) -> tuple[bool, bool, bool, int]:
    mine, theirs = _time(recording), _time(other)
    later = mine is not None and theirs is not None and mine > theirs + _SAME_MOMENT_S
    return later, recording.has_frames, not recording.cut, recording.entries


def _time(recording: Recording) -> float | None:
    return None if recording.last is None else recording.last.created_s


def _world(recordings: Recordings, size: int | None) -> Ranks:
    """All ranks that have a dump or that a list names; ranks count from 0 without gaps."""
    ranks = set(recordings)
    lists = {t.members for r in recordings.values() for t in r.groups.values()}
    lists |= {recording.world for recording in recordings.values()}
    for members in lists:
        ranks.update(members or ())
    if max(ranks) < 1 << 20:
        ranks.update(Rank(r) for r in range(max(max(ranks) + 1, size or 0)))
    return frozenset(ranks)


class _Judge:
    """One look at all dumps."""

    def __init__(self, sources: dict[Rank, DumpRead], world_size: int | None) -> None:
        self.sources = dict(sorted(sources.items()))
        self.recordings: dict[Rank, Recording] = {r: d.recording for r, d in self.sources.items()}
        self.world = _world(self.recordings, world_size)
        self.teams: list[Team] = find_teams(self.recordings, self.world)
        self.found: list[Found] = find_differences(self.teams, self.recordings)
        cutoff = {f.team: f.seq for f in self.found}
        self.stands = Stands(self.teams, self.recordings, cutoff)
        self.latest_s = max(
            (t for r in self.recordings.values() if (t := _time(r)) is not None), default=None
        )

    def standstill(self) -> Standstill:
        """The whole judgement."""
        awaited = {rank: self._awaited(rank) for rank in self.stands.first}
        waits_for = {rank: targets for rank, targets in awaited.items() if targets}
        roots = frozenset().union(*waits_for.values()) - waits_for.keys() if waits_for else NO_RANKS
        roles = self._roles(frozenset(roots), frozenset(waits_for))
        reached = reachable(roots, waits_for)
        circle = frozenset(waits_for) - reached
        waits = self._waits(frozenset(waits_for), frozenset(roles))
        return Standstill(
            recordings=self.recordings,
            world=self.world,
            silent=self.world - self.recordings.keys(),
            suspects=tuple(self._suspect(rank, roles[rank], waits) for rank in sorted(roles)),
            waits=waits,
            waiting=frozenset(waits_for) - roles.keys(),
            circle=circle if not roles else NO_RANKS,
            circle_odd=self._odd_in(circle, waits) if not roles else NO_RANKS,
            together=self._together(waits_for),
            differences=tuple(self._difference(found) for found in self.found),
        )

    def _awaited(self, rank: Rank) -> Ranks:
        """Whom a rank waits for in its first open call."""
        return self.stands.members(self.stands.first[rank].place).awaited - {rank}

    def _roles(self, roots: Ranks, waiting: Ranks) -> dict[Rank, Role]:
        """Who of those that others wait for holds them up by itself.

        A rank without a dump is one only where no other explains the wait, for its dump may merely
        be missing; and only few can be.
        """
        roles: dict[Rank, Role] = {}
        places = {self.stands.first[rank].place for rank in waiting}
        sure = NO_RANKS.union(*(m.lacking | m.held for m in map(self.stands.members, places)))
        for rank in roots & sure:
            first = self.stands.first.get(rank)
            if first is not None and self.stands.members(first.place).done:
                roles[rank] = Role.STALLED
            elif first is None or not first.sure:
                roles[rank] = Role.ABSENT
        if roles:
            return self._without_majority(roles, waiting)
        silent = roots - sure
        if len(silent) == 1 or 2 * len(silent) <= len(self.recordings):
            return dict.fromkeys(silent, Role.SILENT)
        return {}

    def _without_majority(self, roles: dict[Rank, Role], waiting: Ranks) -> dict[Rank, Role]:
        """Where a few wait for the many, and the many are all in step, the few are out of it.

        That most ranks hold the others up is no finding: then calls were paired wrongly, or the
        dumps were not taken at rest.
        """
        stalled = {rank for rank, role in roles.items() if role is Role.STALLED}
        if 2 * len(stalled) >= len(self.recordings):
            return {}
        absent = roles.keys() - stalled
        if len(absent) <= 2 * len(waiting) or len(absent) < len(roles):
            return roles if 2 * len(absent) <= len(self.recordings) else {}
        places = {self.stands.first[rank].place for rank in waiting}
        if len(places) != 1:
            return {}
        place = next(iter(places))
        team = self.teams[place.team]
        if place.seq is None or any(
            team.enqueued(rank, self.recordings[rank]) != place.seq - 1 for rank in absent
        ):
            return {}
        return dict.fromkeys(waiting, Role.AHEAD)

    def _odd_in(self, circle: Ranks, waits: tuple[Wait, ...]) -> Ranks:
        """The few ranks of a circle at the end of what its crowd waits for.

        The crowd is those that wait in one call. Who they lack may itself wait for others outside
        of the crowd; the last before it leads back, or a smaller part of the crowd, is the odd one.
        """
        if not circle:
            return NO_RANKS
        largest = max(waits, key=lambda w: len(w.waiters & circle))
        crowd = largest.waiters & circle
        few = (largest.lacking | largest.held) & circle
        if 2 * len(few) >= len(crowd):
            return NO_RANKS
        path = {few}
        while True:
            following = self._mostly_awaited(few) & circle
            if following & crowd or following in path or not following:
                return following if 0 < len(following) < len(few) else few
            few = following
            path.add(few)

    def _mostly_awaited(self, ranks: Ranks) -> Ranks:
        """Whom those of some ranks wait for that stand in the same call, the most of them."""
        places = Counter(self.stands.first[rank].place for rank in ranks)
        place = places.most_common(1)[0][0]
        there = frozenset(r for r in ranks if self.stands.first[r].place == place)
        return self.stands.members(place).awaited - there

    def _suspect(self, rank: Rank, role: Role, waits: tuple[Wait, ...]) -> Suspect:
        recording = self.recordings.get(rank)
        last = None if recording is None else recording.last
        idle = None
        if last is not None and last.created_s is not None and self.latest_s is not None:
            idle = max(0.0, self.latest_s - last.created_s)
        return Suspect(
            rank=rank,
            role=role,
            behind=self._behind(rank) if role is Role.ABSENT else None,
            last=last,
            idle_s=idle,
            source=self._source(rank, waits),
        )

    def _behind(self, rank: Rank) -> int | None:
        """How many calls of the group that waits for it a rank has not issued."""
        most = None
        for call in self.stands.first.values():
            if call.place.seq is None:
                continue
            if rank in self.stands.members(call.place).lacking:
                enqueued = self.teams[call.place.team].enqueued(rank, self.recordings[rank])
                if enqueued is not None:
                    most = max(most or 0, call.place.seq - enqueued)
        return most

    def _source(self, rank: Rank, waits: tuple[Wait, ...]) -> Provenance:
        if rank in self.sources:
            return self.sources[rank].source
        if waits:
            return waits[0].source
        return next(iter(self.sources.values())).source

    def _waits(self, waiting: Ranks, suspects: Ranks) -> tuple[Wait, ...]:
        places: dict[Place, set[Rank]] = {}
        for rank in waiting:
            places.setdefault(self.stands.first[rank].place, set()).add(rank)
        waits = [self._wait(place, frozenset(ranks)) for place, ranks in places.items()]
        waits.sort(
            key=lambda w: (
                not (w.lacking | w.held | w.silent | w.waiters) & suspects,
                -len(w.waiters),
                w.group,
                min(w.waiters),
            )
        )
        return tuple(waits)

    def _wait(self, place: Place, waiters: Ranks) -> Wait:
        members = self.stands.members(place)
        team = self.teams[place.team]
        shown = self._shown(place, min(waiters))
        call = self._call(place, waiters, members.lacking, members.silent, shown)
        return Wait(
            group=team.name,
            description=team.description,
            seq=place.seq,
            op=None if shown is None else shown.op,
            members=frozenset(team.members),
            waiters=waiters,
            lacking=members.lacking,
            held=members.held,
            silent=members.silent,
            shown=shown,
            call=call,
            source=self.sources[min(waiters)].source,
        )

    def _shown(self, place: Place, rank: Rank) -> LastCall | None:
        if place.seq is None:
            return self.recordings[rank].last
        trace = self.teams[place.team].traces[rank]
        return trace.last_call(place.seq) or next(iter(trace.tail), None)

    def _call(
        self, place: Place, joined: Ranks, lacking: Ranks, silent: Ranks, shown: LastCall | None
    ) -> Call:
        team = self.teams[place.team]
        return Call(
            group=GroupRef(guid=team.name, description=team.description or None),
            seq=None if place.seq is None else SeqId(place.seq),
            joins={
                rank: Join(
                    rank=rank,
                    global_rank=True,
                    op=None if shown is None else _operation(shown.op),
                    timed_out=False,
                    source=self.sources[rank].source,
                )
                for rank in sorted(joined)
            },
            absent=lacking,
            silent=silent,
            members=frozenset(team.members),
        )

    def _together(self, waits_for: dict[Rank, Ranks]) -> Wait | None:
        """A call that is surely open on all its members, where nobody waits for anybody."""
        if waits_for:
            return None
        for rank, call in self.stands.first.items():
            members = self.stands.members(call.place)
            everyone = frozenset(self.teams[call.place.team].members)
            reliable = call.sure and self.recordings[rank].has_states
            if reliable and call.place.seq is not None and members.joined == everyone:
                return self._wait(call.place, members.joined)
        return None

    def _difference(self, found: Found) -> Difference:
        team = self.teams[found.team]
        camps = tuple(
            Camp(
                kind=kind,
                ranks=ranks,
                shown=self._shown(Place(found.team, found.seq), min(ranks)),
                source=self.sources[min(ranks)].source,
            )
            for kind, ranks in found.camps
        )
        everyone = NO_RANKS.union(*(camp.ranks for camp in camps))
        return Difference(
            group=team.name,
            description=team.description,
            seq=found.seq,
            aspect=found.aspect,
            camps=camps,
            odd=found.odd,
            shift=found.shift,
            ended=found.ended,
            call=self._call(
                Place(found.team, found.seq), everyone, NO_RANKS, NO_RANKS, camps[0].shown
            ),
        )


def _operation(op: str) -> str:
    """The operation as logs write it.

    >>> _operation("_all_gather_base")
    '_ALLGATHER_BASE'
    """
    return op.upper().replace("ALL_REDUCE", "ALLREDUCE").replace("ALL_GATHER", "ALLGATHER")
