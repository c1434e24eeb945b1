"""Which call each rank waits in first, and for whom.

Marks of completion are used to find the first open call of a rank, never compared between ranks.
Where a back end keeps none (Gloo), the last call may be open, and is if a member lacks it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from unhang.assemble.recorder.pairs import has_issued
from unhang.assemble.recorder.process_groups import ProcessGroup, Recordings
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.recording import GroupTrace

_ROOTED = frozenset({"broadcast", "_broadcast_oop", "reduce", "_reduce_oop", "gather", "scatter"})
"""Some ranks may leave these before others have come."""


class CallKey(NamedTuple):
    """A call: a collective by its number, or a point-to-point one by who and to whom.

    Attributes:
        group: index of the group.
        seq: number of the collective; None for point-to-point.
        pair: (rank, peer, whether the rank sends); None for collectives.
    """

    group: int
    seq: int | None
    pair: tuple[Rank, Rank, bool] | None = None


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that a rank has issued and that is not known to be done.

    Attributes:
        at: where it calls in the rank's dump.
        sure: it is surely open; else only if somebody lacks it.
    """

    key: CallKey
    at: int
    sure: bool


@dataclass(frozen=True, slots=True)
class Membership:
    """The members of a call by what they did about it.

    Attributes:
        joined: issued it, and nothing is open on them before it.
        lacking: have not issued it; `held` issued it behind another open call.
        done: completed it; `left` did so, or gave it up (Gloo does not tell which).
        silent: left no dump that tells.
    """

    joined: Ranks = NO_RANKS
    lacking: Ranks = NO_RANKS
    held: Ranks = NO_RANKS
    done: Ranks = NO_RANKS
    left: Ranks = NO_RANKS
    silent: Ranks = NO_RANKS

    @property
    def keeping(self) -> Ranks:
        """Those of whom it is known that they keep the call from being done."""
        return self.lacking | self.held

    @property
    def awaited(self) -> Ranks:
        """Those that the joined ones wait for."""
        return self.lacking | self.held | self.silent


class OpenCalls:
    """Where every rank calls.

    Attributes:
        first: the first open call of each rank that has one.
        blind: ranks with an open call in a group whose other members nothing tells.
    """

    def __init__(
        self, groups: list[ProcessGroup], recordings: Recordings, cutoff: dict[int, int]
    ) -> None:
        """Find the first open calls.

        Args:
            groups: the process groups.
            recordings: one for each rank.
            cutoff: per group a number from which on calls differ: they are not compared further.
        """
        self.groups = groups
        self.recordings = recordings
        self.first: dict[Rank, OpenCall] = {}
        self._cutoff = cutoff
        self._of_rank: dict[Rank, list[int]] = {}
        for index, group in enumerate(groups):
            for rank in group.traces:
                self._of_rank.setdefault(rank, []).append(index)
        self._stale = self._find_stale()
        self._members: dict[CallKey, Membership] = {}
        found = {rank: first for rank in recordings if (first := self._first(rank)) is not None}
        self.first = found
        self._members.clear()  # `held` is known only now
        self.blind = frozenset(r for r in recordings if r not in found and self._is_blind(r))

    def members(self, key: CallKey) -> Membership:
        """What the members of a call did about it."""
        found = self._members.get(key)
        if found is None:
            found = self._pair(key) if key.pair is not None else self._collective(key)
            self._members[key] = found
        return found

    def counts(self, rank: Rank) -> frozenset[tuple[str, int | None]]:
        """How many collectives a rank has issued in each kind of group."""
        recording = self.recordings[rank]
        groups = (self.groups[index] for index in self._of_rank.get(rank, ()))
        return frozenset(
            (g.description, g.enqueued(rank, recording)) for g in groups if g.description
        )

    def _first(self, rank: Rank) -> OpenCall | None:
        for call in self._open_calls(rank):
            members = self.members(call.key)
            if self._is_clean_end(call.key, members):
                continue
            missing = members.silent - self.recordings.keys()
            if call.sure or members.lacking or (missing and self._may_be_broken_off(call.key)):
                return call
        return None

    def _is_clean_end(self, key: CallKey, members: Membership) -> bool:
        """A barrier that some have left and all have come to: its last marks come a little late."""
        return members.left != NO_RANKS and not members.lacking and self._op(key) == "barrier"

    def _may_be_broken_off(self, key: CallKey) -> bool:
        """Whether a call that a back end without states calls over may have failed.

        It has not where anybody went on. Jobs that end well usually end with a barrier.
        """
        if key.seq is None or self._op(key) == "barrier":
            return False
        group = self.groups[key.group]
        return all(
            group.enqueued(rank, self.recordings[rank]) == key.seq
            for rank in group.members
            if rank in self.recordings
        )

    def _op(self, key: CallKey) -> str | None:
        if key.seq is None:
            return None
        for rank, trace in self.groups[key.group].traces.items():
            kind = trace.kind_at(key.seq)
            if kind is not None:
                return self.recordings[rank].kinds[kind].op
        return None

    def _open_calls(self, rank: Rank) -> list[OpenCall]:
        """All calls of a rank that may be open, in the order in which it issued them."""
        recording = self.recordings[rank]
        calls: list[OpenCall] = []
        last: OpenCall | None = None
        done_at = max(
            (
                d
                for i in self._of_rank.get(rank, ())
                if (d := self._trace(i, rank).done_at) is not None
            ),
            default=-1,
        )
        for index in self._of_rank.get(rank, ()):
            trace = self._trace(index, rank)
            calls.extend(self._open_pairs(index, rank, trace, done_at))
            counted = trace.from_status and self.groups[index].mixed
            if trace.pending_at is not None and not counted:
                key = CallKey(index, trace.pending_seq)
                calls.append(OpenCall(key, trace.pending_at, sure=True))
            elif trace.last_at is not None and not recording.has_states:
                call = OpenCall(CallKey(index, trace.seqs[-1]), trace.last_at, sure=False)
                last = call if last is None or call.at > last.at else last
        if last is not None:
            calls.append(last)
        return sorted(calls, key=lambda call: call.at)

    def _open_pairs(
        self, index: int, rank: Rank, trace: GroupTrace, done_at: int
    ) -> Iterator[OpenCall]:
        group = self.groups[index]
        for sends, traffic in ((True, trace.sent), (False, trace.received)):
            for number, pairs in traffic.items():
                peer = group.peer(number)
                if peer is None or peer == rank:
                    continue
                key = CallKey(index, None, (rank, peer, sends))
                if pairs.pending_at is not None:
                    yield OpenCall(key, pairs.pending_at, sure=True)
                elif pairs.batched and pairs.last_at > done_at:
                    yield OpenCall(key, pairs.last_at, sure=False)

    def _is_blind(self, rank: Rank) -> bool:
        """Whether a rank waits in a group that no other dump could be matched with.

        Where the back end keeps no states, its last call counts.
        """
        recording = self.recordings[rank]
        known = {id(self._trace(index, rank)) for index in self._of_rank.get(rank, ())}
        last_at = max(
            (t.last_at for t in recording.groups.values() if t.last_at is not None), default=-1
        )
        return any(
            trace.members is None
            and id(trace) not in known
            and (trace.is_open or (not recording.has_states and trace.last_at == last_at))
            for trace in recording.groups.values()
        )

    def _trace(self, index: int, rank: Rank) -> GroupTrace:
        return self.groups[index].traces[rank]

    def _collective(self, key: CallKey) -> Membership:
        group = self.groups[key.group]
        assert key.seq is not None
        issued_s = self._issued_s(group, key.seq)
        found: dict[str, set[Rank]] = {}
        for rank in group.members:
            what = self._about(group, key, rank, issued_s)
            found.setdefault(what, set()).add(rank)
        return Membership(**{what: frozenset(ranks) for what, ranks in found.items() if what})

    def _issued_s(self, group: ProcessGroup, seq: int) -> float | None:
        """When the first of the members issued a call, where its details were kept."""
        calls = (trace.last_call(seq) for trace in group.traces.values())
        times = (call.created_s for call in calls if call is not None)
        return min((t for t in times if t is not None), default=None)

    def _about(self, group: ProcessGroup, key: CallKey, rank: Rank, issued_s: float | None) -> str:
        """What a member did about a collective; "" where nothing tells."""
        assert key.seq is not None
        recording = self.recordings.get(rank)
        if recording is None:
            return "silent"
        enqueued = group.enqueued(rank, recording)
        if enqueued is None:
            return "silent" if recording.cut or recording.entries == 0 else ""
        if enqueued < key.seq:
            if recording.cut and not group.is_counted(rank):
                return "silent"
            taken_s = recording.taken_s
            early = taken_s is not None and issued_s is not None and taken_s < issued_s
            return "" if early or rank in self._stale else "lacking"
        completed = group.completed(rank)
        if completed is not None and completed >= key.seq:
            return "done" if recording.has_states else "left"
        first = self.first.get(rank)
        behind_another = first is not None and first.sure and first.key != key
        return "held" if behind_another else "joined"

    def _pair(self, key: CallKey) -> Membership:
        """What the peer did about a point-to-point operation."""
        assert key.pair is not None
        rank, peer, sends = key.pair
        mine = frozenset({rank})
        recording = self.recordings.get(peer)
        if recording is None:
            return Membership(joined=mine, silent=frozenset({peer}))
        issued = None
        if not recording.cut and peer not in self._stale:
            issued = has_issued(self.groups[key.group], rank, peer, recording, sends=sends)
        if issued is None:
            unknown = frozenset({peer}) if recording.cut else NO_RANKS
            return Membership(joined=mine, silent=unknown)
        if not issued:
            return Membership(joined=mine, lacking=frozenset({peer}))
        first = self.first.get(peer)
        if first is not None and first.sure and not _is_counterpart(first.key, key):
            return Membership(joined=mine, held=frozenset({peer}))
        return Membership(joined=frozenset({rank, peer}))

    def _find_stale(self) -> Ranks:
        """Ranks whose dump is older than others': these completed calls that it had not issued."""
        stale: set[Rank] = set()
        for index, group in enumerate(self.groups):
            if index in self._cutoff:
                continue
            furthest = max((self._shared_until(group, rank) for rank in group.traces), default=0)
            for rank in group.traces:
                enqueued = group.enqueued(rank, self.recordings[rank])
                if enqueued is not None and enqueued < furthest:
                    stale.add(rank)
        return frozenset(stale)

    def _shared_until(self, group: ProcessGroup, rank: Rank) -> int:
        """The last collective done on a rank that needs all members; 0 where none is known."""
        recording, completed = self.recordings[rank], group.completed(rank)
        if not recording.has_states or completed is None:
            return 0
        trace = group.traces[rank]
        if not trace.seqs or trace.seqs[0] > completed:
            return completed  # only the counter is left of it
        for place in range(bisect_right(trace.seqs, completed) - 1, -1, -1):
            if recording.kinds[trace.kinds[place]].op not in _ROOTED:
                return trace.seqs[place]
        return 0


def _is_counterpart(one: CallKey, other: CallKey) -> bool:
    if one.pair is None or other.pair is None or one.group != other.group:
        return False
    return one.pair[0] == other.pair[1] and one.pair[1] == other.pair[0]
