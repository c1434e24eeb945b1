"""Who of those that others wait for holds them up by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from unhang.assemble.recorder.lateness import is_overdue
from unhang.assemble.recorder.open_calls import CallKey, OpenCalls
from unhang.assemble.recorder.pairs import traffic_with
from unhang.assemble.recorder.process_groups import ProcessGroup
from unhang.assemble.recorder.sequence_outliers import find_out_of_count, find_unusual
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.recorder_analysis import SuspectRole
from unhang.model.waits import Analysis, ranks_of_ends
from unhang.waitgraph import WaitGraph

_MANY = 2
"""So many times as many ranks are the crowd."""


@dataclass(frozen=True, slots=True)
class RecorderVerdict:
    """What the waits come to.

    Attributes:
        roles: of the ranks that hold others up.
        cycle: ranks that wait for each other; `cycle_odd` those of them that left their habit.
    """

    roles: dict[Rank, SuspectRole] = field(default_factory=dict)
    cycle: Ranks = NO_RANKS
    cycle_odd: Ranks = NO_RANKS


def find_suspects(
    calls: OpenCalls, keys: Sequence[CallKey], analysis: Analysis, graph: WaitGraph
) -> RecorderVerdict:
    """Weigh the ends of the waits by how the dumps were taken and by what is usual in them.

    A cycle holds up everybody in it whatever the others do. Then come ranks whose dumps show that
    they lack what others wait for. One without a dump is suspected only where those do not explain
    the wait, for its dump may merely be missing.

    Args:
        calls: the open calls.
        keys: for each wait of the analysis its place in the dumps.
        analysis: what the waits come to.
        graph: of the same waits.
    """
    recordings = calls.recordings
    if not any(is_overdue(recordings[rank]) for rank in graph.held_up):
        return RecorderVerdict()
    cycle = NO_RANKS.union(*(found.ranks for found in analysis.cycles))
    if cycle:
        if not all(is_overdue(recordings[rank]) for rank in cycle):
            return RecorderVerdict()
        odd = find_unusual(recordings, cycle) or find_out_of_count(calls, cycle)
        return RecorderVerdict(cycle=cycle, cycle_odd=odd)
    finder = _Finder(calls, keys, analysis, graph)
    roles = finder.seen()
    return RecorderVerdict() if roles is None else RecorderVerdict(roles=roles | finder.unseen())


class _Finder:
    """One search over the ends of the waits."""

    def __init__(
        self, calls: OpenCalls, keys: Sequence[CallKey], analysis: Analysis, graph: WaitGraph
    ) -> None:
        self._calls = calls
        self._recordings = calls.recordings
        self._analysis = analysis
        self._waits = list(zip(keys, analysis.waits, strict=True))
        self._held_up = graph.held_up

    def seen(self) -> dict[Rank, SuspectRole] | None:
        """Suspects by their own dumps; None where so many are that the dumps do not decide."""
        ends = ranks_of_ends(self._analysis.ends)
        states = self._analysis.snapshot.states
        stalled = ends & NO_RANKS.union(*(s.ranks for s in states if s.stalled))
        roles = {r: SuspectRole.STALLED if r in stalled else SuspectRole.ABSENT for r in ends}
        ahead = self._ahead(ends - stalled)
        if ahead is None:
            return None
        if ahead:
            return dict.fromkeys(ahead, SuspectRole.AHEAD)
        if 2 * len(roles) > len(self._recordings) or 2 * len(stalled) >= len(self._recordings):
            return None
        late = {r: role for r, role in roles.items() if is_overdue(self._recordings[r])}
        return None if roles and not late else late

    def _ahead(self, absent: Ranks) -> Ranks | None:
        """The few that wait for the many, where the many, and their like, are all in step.

        That most ranks hold the others up is no finding. Where groups of one kind issue the same
        calls, what most of them have not issued is not missing in one of them. None: the dumps do
        not decide.
        """
        found = [(key, wait.waiters) for key, wait in self._waits if wait.awaited & absent]
        shares = [self._rest_before(key, waiters) for key, waiters in found]
        if not shares or min(shares) <= 1.0:
            return NO_RANKS
        ahead = NO_RANKS.union(*(waiters for _, waiters in found))
        few = 2 * len(ahead) <= len(self._recordings)
        return ahead if min(shares) > _MANY and few else None

    def _rest_before(self, key: CallKey, waiters: Ranks) -> float:
        """For each rank that waits in a call, or came to its like, how many rest before it."""
        own = self._calls.groups[key.group]
        like = [group for group in self._calls.groups if group.is_like(own)]
        came = [c for group in like for c in self._came(key, group)]
        past = frozenset(rank for rank, has_come in came if has_come)
        if past - waiters - frozenset(own.members):
            return 0.0
        before = sum(not has and rank not in self._held_up for rank, has in came)
        if len(like) > 1 and before > _MANY * len(past):
            return before / max(1, len(past))
        resting = [
            r for r in self._recordings.values() if r.rank not in self._held_up and not r.cut
        ]
        last = {None if r.last is None else (r.last.group, r.last.seq) for r in resting}
        return len(resting) / len(self._held_up) if len(last) == 1 else 0.0

    def _came(self, key: CallKey, group: ProcessGroup) -> Iterator[tuple[Rank, bool]]:
        """Ranks of a group, and whether they have come to a call under this number."""
        if key.seq is not None:
            for rank in group.traces:
                enqueued = group.enqueued(rank, self._recordings[rank])
                if enqueued is not None:
                    yield rank, enqueued >= key.seq
            return
        assert key.pair is not None
        rank, peer, sends = key.pair
        own = self._calls.groups[key.group]
        mine = traffic_with(own, own.traces[rank], peer, sends=sends)
        one, other = (group.members[own.members.index(r)] for r in (rank, peer))
        trace = group.traces.get(one)
        if mine is not None and trace is not None:
            theirs = traffic_with(group, trace, other, sends=sends)
            yield one, theirs is not None and theirs.seqs[-1] >= mine.seqs[-1]

    def unseen(self) -> dict[Rank, SuspectRole]:
        """Ranks without a dump that the waits lead to which nobody with a dump explains."""
        undecided = self._analysis.undecided
        if undecided is None:
            return {}
        waiting = NO_RANKS.union(*(wait.waiters for wait in undecided.waits))
        if not all(is_overdue(self._recordings[rank]) for rank in waiting):
            return {}
        silent = undecided.ranks
        few = len(silent) == 1 or 2 * len(silent) <= len(self._recordings)
        return dict.fromkeys(silent, SuspectRole.SILENT) if few else {}
