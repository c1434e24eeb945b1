"""Who of those that others wait for holds them up by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from unhang.assemble.recorder.habits import find_out_of_count, find_unusual
from unhang.assemble.recorder.lateness import is_overdue
from unhang.assemble.recorder.pairs import traffic_with
from unhang.assemble.recorder.stands import Place, Stands
from unhang.assemble.recorder.teams import Recordings, Team
from unhang.assemble.recorder.waiting import Waiting
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.standstill import Role

_MANY = 2
"""So many times as many ranks are the crowd."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the waits come to.

    Attributes:
        roles: of the ranks that hold others up.
        circle: ranks that wait for each other; `circle_odd` those of them that left their habit.
    """

    roles: dict[Rank, Role] = field(default_factory=dict)
    circle: Ranks = NO_RANKS
    circle_odd: Ranks = NO_RANKS


def find_suspects(stands: Stands, waiting: Waiting, recordings: Recordings) -> Verdict:
    """Follow the waits to their ends.

    A circle holds up everybody in it whatever the others do. Then come ranks whose dumps show that
    they lack what others wait for. One without a dump is suspected only where those do not explain
    the wait, for its dump may merely be missing.
    """
    if not any(is_overdue(recordings[rank]) for rank in waiting.ranks):
        return Verdict()
    circle = waiting.circle()
    if circle:
        if not all(is_overdue(recordings[rank]) for rank in circle):
            return Verdict()
        odd = find_unusual(recordings, circle) or find_out_of_count(stands, circle)
        return Verdict(circle=circle, circle_odd=odd)
    finder = _Finder(stands, waiting, recordings)
    roles = finder.seen()
    if roles is None:
        return Verdict()
    return Verdict(roles=roles | finder.unseen(frozenset(roles)))


class _Finder:
    """One search over the ends of the waits."""

    def __init__(self, stands: Stands, waiting: Waiting, recordings: Recordings) -> None:
        self._stands = stands
        self._waiting = waiting
        self._recordings = recordings
        self._ends = waiting.ends()
        self._keeping = NO_RANKS.union(*(stands.members(p).keeping for p in waiting.places))

    def seen(self) -> dict[Rank, Role] | None:
        """Suspects by their own dumps; None where so many are that the dumps do not decide."""
        roles: dict[Rank, Role] = {}
        for rank in self._ends & self._keeping:
            first = self._stands.first.get(rank)
            if first is not None and self._stands.members(first.place).done:
                roles[rank] = Role.STALLED
            elif first is None or not first.sure:
                roles[rank] = Role.ABSENT
        ahead = self._ahead(frozenset(r for r, role in roles.items() if role is Role.ABSENT))
        if ahead is None:
            return None
        if ahead:
            return dict.fromkeys(ahead, Role.AHEAD)
        stalled = sum(role is Role.STALLED for role in roles.values())
        if 2 * len(roles) > len(self._recordings) or 2 * stalled >= len(self._recordings):
            return None
        late = {r: role for r, role in roles.items() if is_overdue(self._recordings[r])}
        return None if roles and not late else late

    def _ahead(self, absent: Ranks) -> Ranks | None:
        """The few that wait for the many, where the many, and their like, are all in step.

        That most ranks hold the others up is no finding. Where groups of one kind issue the same
        calls, what most of them have not issued is not missing in one of them. None: the dumps do
        not decide.
        """
        members = self._stands.members
        places = [p for p in self._waiting.places if members(p).lacking & absent]
        shares = [self._rest_before(place) for place in places]
        if not shares or min(shares) <= 1.0:
            return NO_RANKS
        ahead = NO_RANKS.union(*(self._waiting.places[place] for place in places))
        few = 2 * len(ahead) <= len(self._recordings)
        return ahead if min(shares) > _MANY and few else None

    def _rest_before(self, place: Place) -> float:
        """For each rank that waits in a call, or came to its like, how many rest before it."""
        own = self._stands.teams[place.team]
        like = [team for team in self._stands.teams if team.is_like(own)]
        came = [c for team in like for c in self._came(place, team)]
        past = frozenset(rank for rank, has_come in came if has_come)
        if past - self._waiting.places[place] - frozenset(own.members):
            return 0.0
        before = sum(not has and rank not in self._waiting.waits_for for rank, has in came)
        if len(like) > 1 and before > _MANY * len(past):
            return before / max(1, len(past))
        resting = [
            r
            for r in self._recordings.values()
            if r.rank not in self._waiting.waits_for and not r.cut
        ]
        stand = {None if r.last is None else (r.last.group, r.last.seq) for r in resting}
        return len(resting) / len(self._waiting.ranks) if len(stand) == 1 else 0.0

    def _came(self, place: Place, team: Team) -> Iterator[tuple[Rank, bool]]:
        """Ranks of a group, and whether they have come to a call under this number."""
        if place.seq is not None:
            for rank in team.traces:
                enqueued = team.enqueued(rank, self._recordings[rank])
                if enqueued is not None:
                    yield rank, enqueued >= place.seq
            return
        assert place.pair is not None
        rank, peer, sends = place.pair
        own = self._stands.teams[place.team]
        mine = traffic_with(own, own.traces[rank], peer, sends=sends)
        one, other = (team.members[own.members.index(r)] for r in (rank, peer))
        trace = team.traces.get(one)
        if mine is not None and trace is not None:
            theirs = traffic_with(team, trace, other, sends=sends)
            yield one, theirs is not None and theirs.seqs[-1] >= mine.seqs[-1]

    def unseen(self, named: Ranks) -> dict[Rank, Role]:
        """Ranks without a dump that the waits lead to which no named rank explains."""
        explained = self._waiting.leading_to(named) if named else NO_RANKS
        places = {
            place: ranks - explained
            for place, ranks in self._waiting.places.items()
            if ranks - explained
        }
        awaited = NO_RANKS.union(*(self._stands.members(place).silent for place in places))
        silent = awaited & self._ends - self._keeping
        alone = [self._stands.members(place).awaited for place in places]
        needed = frozenset(rank for rank in silent if frozenset({rank}) in alone)
        unexplained = NO_RANKS.union(*places.values())
        if needed and unexplained <= self._waiting.leading_to(needed):
            silent = needed
        if not silent or not all(is_overdue(self._recordings[rank]) for rank in unexplained):
            return {}
        few = len(silent) == 1 or 2 * len(silent) <= len(self._recordings)
        return dict.fromkeys(silent, Role.SILENT) if few else {}
