"""From the Flight Recorder dumps of all ranks to where the job stands and who holds it up.

Ranks wait for members of their groups that have not issued a call, or that issued it behind another
open one. Following that, over all groups, leads to the ranks that wait for nobody: the suspects.
All others are victims, however many calls of theirs are open.
"""

from __future__ import annotations

from collections.abc import Iterable

from unhang.assemble.recorder.differences import Found, find_differences
from unhang.assemble.recorder.lateness import rested_s
from unhang.assemble.recorder.pair_differences import PairFound, find_pair_differences
from unhang.assemble.recorder.stands import Place, Stands
from unhang.assemble.recorder.suspects import find_suspects
from unhang.assemble.recorder.teams import Recordings, Team, find_teams
from unhang.assemble.recorder.waiting import Waiting
from unhang.model.events import GroupRef
from unhang.model.events.recorder import DumpRead
from unhang.model.ids import NO_RANKS, Rank, Ranks, SeqId
from unhang.model.incident import Call, Join
from unhang.model.provenance import Provenance
from unhang.model.recording import CallKind, LastCall, Recording
from unhang.model.standstill import Aspect, Camp, Difference, Role, Standstill, Suspect, Wait

_SAME_MOMENT_S = 60.0
_SAME_ORDER_S = 0.5
"""Between the two forms of a dump that were ordered as one."""


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
    return _is_later(recording, other), recording.has_frames, not recording.cut, recording.entries


def _is_later(recording: Recording, other: Recording) -> bool:
    """Whether a dump is not merely another form of one that was taken at about the same time."""
    if recording.taken_s is not None and other.taken_s is not None:
        return recording.taken_s > other.taken_s + _SAME_ORDER_S
    mine, theirs = _time(recording), _time(other)
    return mine is not None and theirs is not None and mine > theirs + _SAME_MOMENT_S


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
        waiting = Waiting(self.stands)
        verdict = find_suspects(self.stands, waiting, self.recordings)
        roles = verdict.roles
        waits = self._waits(waiting, frozenset(roles) | verdict.circle)
        return Standstill(
            recordings=self.recordings,
            world=self.world,
            silent=self.world - self.recordings.keys(),
            suspects=tuple(self._suspect(rank, roles[rank], waits) for rank in sorted(roles)),
            waits=waits,
            waiting=waiting.ranks - roles.keys(),
            circle=verdict.circle,
            circle_odd=verdict.circle_odd,
            together=self._together(waiting),
            differences=(
                *(self._difference(found) for found in self.found),
                *(
                    self._pair_difference(found)
                    for found in find_pair_differences(self.teams, self.recordings)
                ),
            ),
        )

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
            rested_s=None if recording is None else rested_s(recording),
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

    def _waits(self, waiting: Waiting, suspects: Ranks) -> tuple[Wait, ...]:
        waits = [self._wait(place, ranks) for place, ranks in waiting.places.items()]
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

    def _together(self, waiting: Waiting) -> Wait | None:
        """A call that is surely open on all its members, where nobody waits for anybody."""
        if waiting.ranks:
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
        place = Place(found.team, found.seq)
        camps = tuple(self._camp(kind, ranks, place) for kind, ranks in found.camps)
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
            call=self._call(place, everyone, NO_RANKS, NO_RANKS, camps[0].shown),
        )

    def _camp(self, kind: CallKind, ranks: Ranks, place: Place) -> Camp:
        first = min(ranks)
        shown = self._shown(place, first)
        return Camp(kind=kind, ranks=ranks, shown=shown, source=self.sources[first].source)

    def _pair_difference(self, found: PairFound) -> Difference:
        team = self.teams[found.team]
        place = Place(found.team, None, (found.sender, found.receiver, True))
        sides = frozenset({found.sender}), frozenset({found.receiver})
        camps = (
            self._camp(found.sent, sides[0], place),
            self._camp(found.expected, sides[1], place),
        )
        same_size = found.sent.inputs == found.expected.inputs
        return Difference(
            group=team.name,
            description=team.description,
            seq=None,
            aspect=Aspect.TYPE if same_size else Aspect.SIZE,
            camps=camps,
            odd=found.odd,
            call=self._call(place, sides[0] | sides[1], NO_RANKS, NO_RANKS, camps[0].shown),
        )


def _operation(op: str) -> str:
    """The operation as logs write it.

    >>> _operation("_all_gather_base")
    '_ALLGATHER_BASE'
    """
    return op.upper().replace("ALL_REDUCE", "ALLREDUCE").replace("ALL_GATHER", "ALLGATHER")
