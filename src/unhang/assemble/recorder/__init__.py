"""From the Flight Recorder dumps of all ranks to who waits for whom, and who holds the others up.

Ranks wait for members of their groups that have not issued a call, or that issued it behind another
open one. Following that, over all groups, leads to the ranks that wait for nobody: the suspects.
All others are victims, however many calls of theirs are open.
"""

from __future__ import annotations

from collections.abc import Iterable

from unhang.assemble.recorder.differences import Found, find_differences
from unhang.assemble.recorder.lateness import rested_s
from unhang.assemble.recorder.open_calls import CallKey, OpenCalls
from unhang.assemble.recorder.pair_differences import PairFound, find_pair_differences
from unhang.assemble.recorder.process_groups import ProcessGroup, Recordings, find_groups
from unhang.assemble.recorder.suspects import find_suspects
from unhang.model.events.recorder import DumpRead
from unhang.model.ids import Rank, Ranks
from unhang.model.provenance import Provenance
from unhang.model.recorder_analysis import RecorderAnalysis, Suspect, SuspectRole
from unhang.model.recording import CallKind, LastCall, Recording
from unhang.model.stack_states import Doing
from unhang.model.strength import Strength
from unhang.model.waits import (
    Analysis,
    Aspect,
    CallRef,
    Mismatch,
    RankState,
    Snapshot,
    Variant,
    Wait,
    WaitWitness,
    WitnessKind,
)
from unhang.waitgraph import WaitGraph, analyse

_SAME_MOMENT_S = 60.0
_SAME_ORDER_S = 0.5
"""Between the two forms of a dump that were ordered as one."""


def analyse_dumps(dumps: Iterable[DumpRead], world_size: int | None) -> RecorderAnalysis | None:
    """Judge the dumps of one job; None where no dump says whose it is."""
    sources: dict[Rank, DumpRead] = {}
    for dump in dumps:
        rank = dump.recording.rank
        if rank is not None and (rank not in sources or _is_better(dump, sources[rank])):
            sources[rank] = dump
    if not sources:
        return None
    return _Dumps(sources, world_size).analysis()


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
    count = max(max(ranks) + 1, size or 0)
    if count <= 1 << 20:
        ranks.update(map(Rank, range(count)))
    return frozenset(ranks)


class _Dumps:
    """One look at all dumps."""

    def __init__(self, sources: dict[Rank, DumpRead], world_size: int | None) -> None:
        self.sources = dict(sorted(sources.items()))
        self.recordings: dict[Rank, Recording] = {r: d.recording for r, d in self.sources.items()}
        self.world = _world(self.recordings, world_size)
        self.groups: list[ProcessGroup] = find_groups(self.recordings, self.world)
        self.found: list[Found] = find_differences(self.groups, self.recordings)
        cutoff = {f.group: f.seq for f in self.found}
        self.calls = OpenCalls(self.groups, self.recordings, cutoff)
        self.members = {ranks: ranks for ranks in map(frozenset, (g.members for g in self.groups))}
        self.latest_s = max(
            (t for r in self.recordings.values() if (t := _time(r)) is not None), default=None
        )

    def analysis(self) -> RecorderAnalysis:
        """The whole judgement."""
        keys, snapshot = self._snapshot()
        graph = WaitGraph(snapshot.waits)
        analysis = analyse(snapshot, graph)
        verdict = find_suspects(self.calls, keys, analysis, graph)
        return RecorderAnalysis(
            recordings=self.recordings,
            analysis=analysis,
            suspects=tuple(
                self._suspect(rank, role, analysis)
                for rank, role in sorted(verdict.roles.items(), key=lambda item: item[0])
            ),
            cycle=verdict.cycle,
            cycle_odd=verdict.cycle_odd,
        )

    def _snapshot(self) -> tuple[list[CallKey], Snapshot]:
        """The waits of the first open calls, with the place of each in the dumps."""
        waiters: dict[CallKey, set[Rank]] = {}
        stalled, waiting = set[Rank](), set(self.calls.blind)
        for rank, call in self.calls.first.items():
            members = self.calls.members(call.key)
            if members.awaited - {rank} or self._is_together(call.key, sure=call.sure, rank=rank):
                waiters.setdefault(call.key, set()).add(rank)
            elif members.done:
                stalled.add(rank)
            elif call.sure:
                waiting.add(rank)
        waits = [(key, self._wait(key, frozenset(ranks))) for key, ranks in waiters.items()]
        waits.sort(key=lambda kw: (-len(kw[1].waiters), kw[1].call.group or "", min(kw[1].waiters)))
        states = [
            RankState(ranks=frozenset(ranks), activity=activity, stalled=activity is None)
            for ranks, activity in ((stalled, None), (waiting, Doing.WAITS))
            if ranks
        ]
        pairs = find_pair_differences(self.groups, self.recordings)
        return [key for key, _ in waits], Snapshot(
            world=self.world,
            waits=tuple(wait for _, wait in waits),
            states=tuple(states),
            mismatches=(
                *(self._mismatch(found) for found in self.found),
                *(self._pair_mismatch(found) for found in pairs),
            ),
        )

    def _is_together(self, key: CallKey, *, sure: bool, rank: Rank) -> bool:
        """Whether a call is surely open on all its members."""
        if not sure or key.seq is None or not self.recordings[rank].has_states:
            return False
        return len(self.calls.members(key).joined) == len(self.groups[key.group].members)

    def _suspect(self, rank: Rank, role: SuspectRole, analysis: Analysis) -> Suspect:
        recording = self.recordings.get(rank)
        last = None if recording is None else recording.last
        idle = None
        if last is not None and last.created_s is not None and self.latest_s is not None:
            idle = max(0.0, self.latest_s - last.created_s)
        return Suspect(
            rank=rank,
            role=role,
            behind=self._behind(rank) if role is SuspectRole.ABSENT else None,
            last=last,
            idle_s=idle,
            rested_s=None if recording is None else rested_s(recording),
            source=self._source(rank, analysis),
        )

    def _behind(self, rank: Rank) -> int | None:
        """How many calls of the group that waits for it a rank has not issued."""
        most = None
        for key in {call.key for call in self.calls.first.values()}:
            if key.seq is not None and rank in self.calls.members(key).lacking:
                enqueued = self.groups[key.group].enqueued(rank, self.recordings[rank])
                if enqueued is not None:
                    most = max(most or 0, key.seq - enqueued)
        return most

    def _source(self, rank: Rank, analysis: Analysis) -> Provenance:
        if rank in self.sources:
            return self.sources[rank].source
        wait = analysis.wait_for(frozenset({rank}))
        told = next(iter(self.sources.values())).source
        return wait.sources[0] if wait is not None and wait.sources else told

    def _wait(self, key: CallKey, waiters: Ranks) -> Wait:
        members = self.calls.members(key)
        first = min(waiters)
        shown = self._shown(key, first)
        return Wait(
            call=self._call(key, None if shown is None else shown.op),
            waiters=waiters,
            awaited=members.lacking,
            held=members.held,
            unknown=members.silent,
            witnesses=(
                WaitWitness(
                    kind=WitnessKind.RECORDER,
                    weight=Strength.PROVES,
                    last=shown,
                    source=self.sources[first].source,
                ),
            ),
        )

    def _shown(self, key: CallKey, rank: Rank) -> LastCall | None:
        if key.seq is None:
            return self.recordings[rank].last
        trace = self.groups[key.group].traces[rank]
        return trace.last_call(key.seq) or next(iter(trace.tail), None)

    def _call(self, key: CallKey, op: str | None) -> CallRef:
        group = self.groups[key.group]
        return CallRef(
            group=group.name,
            description=group.description,
            seq=key.seq,
            op=op,
            members=self.members[frozenset(group.members)],
        )

    def _mismatch(self, found: Found) -> Mismatch:
        key = CallKey(found.group, found.seq)
        variants = tuple(self._variant(kind, ranks, key) for kind, ranks in found.variants)
        return Mismatch(
            call=self._call(key, variants[0].kind.op),
            aspect=found.aspect,
            variants=variants,
            odd=found.odd,
            shift=found.shift,
            ended=found.ended,
            by_rhythm=found.by_rhythm,
        )

    def _variant(self, kind: CallKind, ranks: Ranks, key: CallKey) -> Variant:
        first = min(ranks)
        last = self._shown(key, first)
        return Variant(kind=kind, ranks=ranks, last=last, source=self.sources[first].source)

    def _pair_mismatch(self, found: PairFound) -> Mismatch:
        key = CallKey(found.group, None, (found.sender, found.receiver, True))
        variants = (
            self._variant(found.sent, frozenset({found.sender}), key),
            self._variant(found.expected, frozenset({found.receiver}), key),
        )
        same_size = found.sent.inputs == found.expected.inputs
        return Mismatch(
            call=self._call(key, found.sent.op),
            aspect=Aspect.TYPE if same_size else Aspect.SIZE,
            variants=variants,
            odd=found.odd,
        )
