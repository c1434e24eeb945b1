"""Calls that ranks of a group issued differently under one number, and who is the odd one."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from unhang.assemble.recorder.process_groups import ProcessGroup, Recordings
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.recording import CallKind, GroupTrace
from unhang.model.waits import Aspect

_RECENT = 64
"""A difference that so many equal calls followed on all ranks did not stop the job."""

_BEYOND = 256
"""Numbers past the window common to all members that are compared, among those that have them."""

_STEP = 256
_AGREED = 8
_PAST = 512
"""Calls in which a rhythm is looked for."""
_TIMES = 2
"""What followed so often is one."""


@dataclass(frozen=True, slots=True)
class Found:
    """The first number of a group under which calls differ.

    Attributes:
        variants: ranks by kind, the largest first; of equal ones that which was due.
        by_rhythm: as many issued the one as the other, and earlier calls tell which was due.
    """

    group: int
    seq: int
    variants: tuple[tuple[CallKind, Ranks], ...]
    odd: Ranks
    aspect: Aspect
    shift: int
    ended: bool
    by_rhythm: bool = False


def find_differences(groups: list[ProcessGroup], recordings: Recordings) -> list[Found]:
    """Return the first difference of each group that matters for its end."""
    found = []
    for index, group in enumerate(groups):
        traces = {r: t for r, t in group.traces.items() if len(t.seqs) > 0}
        if len(traces) < 2:
            continue
        traces = _comparable(traces, recordings)
        seq = _first_difference(traces)
        if seq is not None:
            found.append(_describe(index, seq, traces, groups, recordings))
    return found


def _comparable(traces: dict[Rank, GroupTrace], recordings: Recordings) -> dict[Rank, GroupTrace]:
    """The same traces; without types where some of the dumps are too old to tell them."""
    untyped = {rank for rank in traces if recordings[rank].is_untyped}
    if len(untyped) in (0, len(traces)):
        return traces
    table = recordings[next(iter(traces))].kinds
    first: dict[CallKind, int] = {}
    same = [first.setdefault(replace(k, dtypes=()), i) for i, k in enumerate(table)]
    return {
        rank: replace(trace, kinds=array("i", [same[kind] for kind in trace.kinds]))
        for rank, trace in traces.items()
    }


def _first_difference(traces: dict[Rank, GroupTrace]) -> int | None:
    low = max(t.seqs[0] for t in traces.values())
    high = min(t.seqs[-1] for t in traces.values())
    if low <= high:
        seq = _within(traces, low, high)
        if seq is not None:
            return seq
    furthest = max(t.seqs[-1] for t in traces.values())
    begin = (
        max(high, low - 1) if low <= high else max(high, min(t.seqs[0] for t in traces.values()))
    )
    for seq in range(begin + 1, min(furthest, begin + _BEYOND) + 1):
        if _differ(seq, traces):
            return seq
    return None


def _within(traces: dict[Rank, GroupTrace], low: int, high: int) -> int | None:
    """The first difference in the window that all members have; equal slices are one."""
    slices: dict[tuple[bytes, bytes], tuple[Sequence[int], Sequence[int]]] = {}
    for trace in traces.values():
        a, b = bisect_left(trace.seqs, low), bisect_left(trace.seqs, high) + 1
        seqs, kinds = trace.seqs[a:b], trace.kinds[a:b]
        key = b"" if isinstance(seqs, range) else array("q", seqs).tobytes()
        slices.setdefault((key, kinds.tobytes()), (seqs, kinds))
    if len(slices) < 2:
        return None
    maps = [dict(zip(seqs, kinds, strict=True)) for seqs, kinds in slices.values()]
    common = sorted(set(maps[0]).intersection(*maps[1:]))
    odd = [seq for seq in common if len({m[seq] for m in maps}) > 1]
    if not odd or len(common) - bisect_left(common, odd[-1]) > _RECENT:
        return None
    return odd[0]


def _differ(seq: int, traces: dict[Rank, GroupTrace]) -> bool:
    kinds = {kind for t in traces.values() if (kind := t.kind_at(seq)) is not None}
    return len(kinds) > 1


def _describe(
    index: int,
    seq: int,
    traces: dict[Rank, GroupTrace],
    groups: list[ProcessGroup],
    recordings: Recordings,
) -> Found:
    votes: dict[int, set[Rank]] = {}
    for rank, trace in traces.items():
        kind = trace.kind_at(seq)
        if kind is not None:
            votes.setdefault(kind, set()).add(rank)
    ordered = sorted(votes.items(), key=lambda item: (-len(item[1]), min(item[1])))
    table = recordings[next(iter(traces))].kinds
    unseen = sum(rank not in recordings for rank in groups[index].members)
    most = _most(ordered, index, seq, groups, unseen)
    by_rhythm = most is None
    if most is None:
        largest = {kind for kind, ranks in ordered if len(ranks) == len(ordered[0][1])}
        most = _next_in_rhythm(largest, groups[index], seq)
        ordered.sort(key=lambda item: item[0] != most)
    variants = tuple((table[kind], frozenset(ranks)) for kind, ranks in ordered)
    odd = NO_RANKS if most is None else frozenset(r for k, rs in ordered if k != most for r in rs)
    shift, ended = 0, False
    if odd and most is not None:
        like = min(next(rs for k, rs in ordered if k == most))
        one = min(odd)
        shift = _shift(traces[one], traces[like], seq)
        ended = _ended(traces[one], traces[like], seq)
    aspect = _aspect(variants)
    return Found(index, seq, variants, odd, aspect, shift, ended, by_rhythm and bool(odd))


def _most(
    ordered: list[tuple[int, set[Rank]]],
    index: int,
    seq: int,
    groups: list[ProcessGroup],
    unseen: int,
) -> int | None:
    """The kind that most members issued, also if all without a dump issued the other one.

    Where none is, the one that sister groups issued. Members who were the most of those with a dump
    need no more than to have kept to what all issued before.
    """
    if len(ordered[0][1]) > len(ordered[1][1]) + unseen:
        return ordered[0][0]
    tied = {kind for kind, ranks in ordered if len(ranks) + unseen >= len(ordered[0][1])}
    own = groups[index]
    counts: dict[int, int] = {}
    for other, group in enumerate(groups):
        if other != index and group.description and group.description == own.description:
            for trace in group.traces.values():
                kind = trace.kind_at(seq)
                if kind in tied:
                    counts[kind] = counts.get(kind, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        most, fewer = ordered[0], ordered[1]
        kept = len(most[1]) > len(fewer[1]) and _is_habit(most[0], tied, own, seq)
        return most[0] if kept else None
    return ranked[0][0]


def _is_habit(kind: int, kinds: set[int], group: ProcessGroup, seq: int) -> bool:
    """Whether the members issued one of some kinds before, and never the others."""
    before: set[int] = set()
    for trace in group.traces.values():
        before.update(trace.kinds[: bisect_left(trace.seqs, seq)])
    return kinds & before == {kind}


def _next_in_rhythm(kinds: set[int], group: ProcessGroup, seq: int) -> int | None:
    """The one of some kinds that has always followed the calls that came last.

    As many of these are compared as came at least twice before. Where they are all of one kind, a
    call of another kind may come now and then: they tell something only of one that never came.
    """
    longest = max(group.traces.values(), key=lambda trace: bisect_left(trace.seqs, seq))
    end = bisect_left(longest.seqs, seq)
    past = longest.kinds[max(0, end - _PAST) : end]
    alike: list[tuple[int, int]] = []
    for place in range(1, len(past)):
        length = 0
        while length < place and past[place - 1 - length] == past[-1 - length]:
            length += 1
        alike.append((length, past[place]))
    alike.sort(reverse=True)
    if len(alike) < _TIMES:
        return None
    least = alike[_TIMES - 1][0]
    followers = {kind for length, kind in alike if length >= least}
    tells = least > 0 and (len(set(past[-least:])) > 1 or kinds & set(past) == followers)
    return followers.pop() if tells and len(followers) == 1 and followers <= kinds else None


def _shift(odd: GroupTrace, like: GroupTrace, seq: int) -> int:
    """How many calls the odd rank left out (+) or has too many (-), if its later calls show it."""
    for shift in (1, -1, 2, -2):
        matches = 0
        for number in range(seq, seq + _AGREED):
            mine = odd.kind_at(number - min(shift, 0))
            other = like.kind_at(number + max(shift, 0))
            if mine is None or other is None:
                break
            if mine != other:
                matches = 0
                break
            matches += 1
        if matches >= 1 and shift > 0 and odd.kind_at(seq) != like.kind_at(seq):
            return shift
        if matches >= _AGREED // 2:
            return shift
    return 0


def _ended(odd: GroupTrace, like: GroupTrace, seq: int) -> bool:
    """Whether the odd rank's call is its last one and nothing like it calls in the steps before.

    The others' call must be one of a step: issued before in the window.
    """
    if odd.seqs[-1] > seq:
        return False
    mine, other = odd.kind_at(seq), like.kind_at(seq)
    before = [k for s, k in zip(odd.seqs, odd.kinds, strict=True) if seq - _STEP <= s < seq]
    return len(before) > 1 and mine not in before and other in before


def _aspect(variants: tuple[tuple[CallKind, Ranks], ...]) -> Aspect:
    first, second = variants[0][0], variants[1][0]
    if first.op != second.op:
        return Aspect.OPERATION
    if (first.inputs, first.outputs) != (second.inputs, second.outputs):
        return Aspect.SIZE
    return Aspect.TYPE
