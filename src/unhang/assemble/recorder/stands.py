"""Which call each rank waits in first, and for whom.

Marks of completion are used to find the first open call of a rank, never compared between ranks.
Where a back end keeps none (Gloo), the last call may be open, and is if a member lacks it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from unhang.assemble.recorder.teams import Recordings, Team
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.recording import GroupTrace, Traffic

_ROOTED = frozenset({"broadcast", "_broadcast_oop", "reduce", "_reduce_oop", "gather", "scatter"})
"""Some ranks may leave these before others have come."""

_SAME_NUMBERS = 0.9


class Place(NamedTuple):
    """A call: a collective by its number, or a point-to-point one by who and to whom.

    Attributes:
        team: index of the team.
        seq: number of the collective; None for point-to-point.
        pair: (rank, peer, whether the rank sends); None for collectives.
    """

    team: int
    seq: int | None
    pair: tuple[Rank, Rank, bool] | None = None


@dataclass(frozen=True, slots=True)
class Open:
    """A call that a rank has issued and that is not known to be done.

    Attributes:
        at: where it stands in the rank's dump.
        sure: it is surely open; else only if somebody lacks it.
    """

    place: Place
    at: int
    sure: bool


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a call by what they did about it."""

    joined: Ranks = NO_RANKS
    lacking: Ranks = NO_RANKS
    held: Ranks = NO_RANKS
    done: Ranks = NO_RANKS
    silent: Ranks = NO_RANKS

    @property
    def awaited(self) -> Ranks:
        """Those that the joined ones wait for."""
        return self.lacking | self.held | self.silent


class Stands:
    """Where every rank stands.

    Attributes:
        first: the first open call of each rank that has one.
    """

    def __init__(self, teams: list[Team], recordings: Recordings, cutoff: dict[int, int]) -> None:
        """Find the first open calls.

        Args:
            teams: the process groups.
            recordings: one for each rank.
            cutoff: per team a number from which on calls differ: they are not compared further.
        """
        self.teams = teams
        self.recordings = recordings
        self._cutoff = cutoff
        self._of_rank: dict[Rank, list[int]] = {}
        for index, team in enumerate(teams):
            for rank in team.traces:
                self._of_rank.setdefault(rank, []).append(index)
        self._stale = self._find_stale()
        self._members: dict[Place, Members] = {}
        self._open = {rank: self._open_calls(rank) for rank in recordings}
        self.first: dict[Rank, Open] = {}
        for rank in recordings:
            found = self._first(rank)
            if found is not None:
                self.first[rank] = found
        self._members.clear()  # `held` is known only now

    def members(self, place: Place) -> Members:
        """What the members of a call did about it."""
        found = self._members.get(place)
        if found is None:
            found = self._pair(place) if place.pair is not None else self._collective(place)
            self._members[place] = found
        return found

    def _first(self, rank: Rank) -> Open | None:
        for call in self._open[rank]:
            if call.sure or self.members(call.place).lacking:
                return call
        return None

    def _open_calls(self, rank: Rank) -> list[Open]:
        """All calls of a rank that may be open, in the order in which it issued them."""
        recording = self.recordings[rank]
        calls: list[Open] = []
        last: Open | None = None
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
            if trace.pending_at is not None and not (trace.from_status and self.teams[index].mixed):
                seq = (trace.completed or 0) + 1
                calls.append(Open(Place(index, seq), trace.pending_at, sure=True))
            elif trace.last_at is not None and not recording.has_states:
                call = Open(Place(index, trace.seqs[-1]), trace.last_at, sure=False)
                last = call if last is None or call.at > last.at else last
        if last is not None:
            calls.append(last)
        return sorted(calls, key=lambda call: call.at)

    def _open_pairs(
        self, index: int, rank: Rank, trace: GroupTrace, done_at: int
    ) -> Iterator[Open]:
        team = self.teams[index]
        for sends, traffic in ((True, trace.sent), (False, trace.received)):
            for number, pairs in traffic.items():
                peer = team.peer(rank, number)
                if peer is None or peer == rank:
                    continue
                place = Place(index, None, (rank, peer, sends))
                if pairs.pending_at is not None:
                    yield Open(place, pairs.pending_at, sure=True)
                elif pairs.batched and pairs.last_at > done_at:
                    yield Open(place, pairs.last_at, sure=False)

    def _trace(self, index: int, rank: Rank) -> GroupTrace:
        return self.teams[index].traces[rank]

    def _collective(self, place: Place) -> Members:
        team = self.teams[place.team]
        assert place.seq is not None
        found: dict[str, set[Rank]] = {}
        for rank in team.members:
            found.setdefault(self._about(team, place, place.seq, rank), set()).add(rank)
        return Members(**{what: frozenset(ranks) for what, ranks in found.items() if what})

    def _about(self, team: Team, place: Place, seq: int, rank: Rank) -> str:
        """What a member did about a collective; "" where nothing tells."""
        recording = self.recordings.get(rank)
        if recording is None:
            return "silent"
        enqueued = team.enqueued(rank, recording)
        if enqueued is None:
            return "silent" if recording.cut or recording.entries == 0 else ""
        if enqueued < seq:
            if recording.cut:
                return "silent"
            return "" if rank in self._stale else "lacking"
        completed = team.completed(rank)
        if recording.has_states and completed is not None and completed >= seq:
            return "done"
        first = self.first.get(rank) if hasattr(self, "first") else None
        behind_another = first is not None and first.sure and first.place != place
        return "held" if behind_another else "joined"

    def _pair(self, place: Place) -> Members:
        """What the peer did about a point-to-point operation."""
        assert place.pair is not None
        rank, peer, _ = place.pair
        mine = frozenset({rank})
        recording = self.recordings.get(peer)
        if recording is None:
            return Members(joined=mine, silent=frozenset({peer}))
        issued = self._has_issued(place)
        if issued is None:
            unknown = frozenset({peer}) if recording.cut else NO_RANKS
            return Members(joined=mine, silent=unknown)
        if not issued:
            return Members(joined=mine, lacking=frozenset({peer}))
        first = self.first.get(peer) if hasattr(self, "first") else None
        if first is not None and first.sure and not _is_counterpart(first.place, place):
            return Members(joined=mine, held=frozenset({peer}))
        return Members(joined=frozenset({rank, peer}))

    def _has_issued(self, place: Place) -> bool | None:
        """Whether the peer has issued the counterpart; None where nothing tells."""
        assert place.pair is not None
        rank, peer, sends = place.pair
        team = self.teams[place.team]
        mine, other = team.traces[rank], team.traces.get(peer)
        recording = self.recordings[peer]
        traffic = _traffic(team, mine, peer, sends=sends)
        if traffic is None or recording.cut or peer in self._stale:
            return None
        answer = None if other is None else _traffic(team, other, rank, sends=not sends)
        whole = recording.from_start if other is None else other.traffic_whole
        wanted = traffic.count if traffic.batched else traffic.count - traffic.pending + 1
        if mine.traffic_whole and whole:
            return (0 if answer is None else answer.count) >= wanted
        if traffic.batched:
            return _aligned(traffic, answer)
        if answer is None:
            # A dump of active calls only, or a buffer that was overwritten: no open counterpart.
            return False
        return answer.batched or answer.pending > 0

    def _find_stale(self) -> Ranks:
        """Ranks whose dump is older than others': these completed calls that it had not issued."""
        stale: set[Rank] = set()
        for index, team in enumerate(self.teams):
            if index in self._cutoff:
                continue
            furthest = max((self._shared_until(team, rank) for rank in team.traces), default=0)
            for rank in team.traces:
                enqueued = team.enqueued(rank, self.recordings[rank])
                if enqueued is not None and enqueued < furthest:
                    stale.add(rank)
        return frozenset(stale)

    def _shared_until(self, team: Team, rank: Rank) -> int:
        """The last collective done on a rank that needs all members; 0 where none is known."""
        recording, completed = self.recordings[rank], team.completed(rank)
        if not recording.has_states or completed is None:
            return 0
        trace = team.traces[rank]
        if not trace.seqs or trace.seqs[0] > completed:
            return completed  # only the counter is left of it
        for place in range(bisect_right(trace.seqs, completed) - 1, -1, -1):
            if recording.kinds[trace.kinds[place]].op not in _ROOTED:
                return trace.seqs[place]
        return 0


def _traffic(team: Team, trace: GroupTrace, peer: Rank, *, sends: bool) -> Traffic | None:
    """A rank's traffic with a peer, under whichever number its dump gives the peer."""
    traffic = trace.sent if sends else trace.received
    if not traffic:
        return None
    by_group = trace.own is not None and trace.own < len(team.members)
    by_group = by_group and team.traces.get(team.members[trace.own or 0]) is trace
    return traffic.get(team.members.index(peer) if by_group else int(peer))


def _is_counterpart(one: Place, other: Place) -> bool:
    if one.pair is None or other.pair is None or one.team != other.team:
        return False
    return one.pair[0] == other.pair[1] and one.pair[1] == other.pair[0]


def _aligned(traffic: Traffic, answer: Traffic | None) -> bool | None:
    """Compare batches by number, where both ranks number them alike (rings do)."""
    if answer is None:
        return None
    mine, other = set(traffic.seqs), set(answer.seqs)
    low, high = max(min(mine), min(other)), min(max(mine), max(other))
    window = {seq for seq in mine if low <= seq <= high}
    if len(window) < 2 or len(window & other) < _SAME_NUMBERS * len(window):
        return None
    return max(other) >= max(mine)


def reachable(targets: Iterable[Rank], waits_for: dict[Rank, Ranks]) -> set[Rank]:
    """Ranks that lead to one of `targets`, directly or through others."""
    back: dict[Rank, list[Rank]] = {}
    shared: dict[Ranks, list[Rank]] = {}
    for rank, awaited in waits_for.items():
        shared.setdefault(awaited, []).append(rank)
    for awaited, ranks in shared.items():
        for target in awaited:
            back.setdefault(target, []).extend(ranks)
    found = set(targets)
    pending = list(found)
    while pending:
        for rank in back.pop(pending.pop(), ()):
            if rank not in found:
                found.add(rank)
                pending.append(rank)
    return found
