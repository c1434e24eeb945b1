"""From the calls that logs tell of to those that ranks issued differently, and who is odd."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from unhang.assemble.run import Run
from unhang.model.events import CollectiveTimeout
from unhang.model.ids import Rank, Ranks, RankSpans
from unhang.model.incident import Call
from unhang.model.recording import CallKind
from unhang.model.waits import Aspect, CallRef, Mismatch, Variant
from unhang.waitgraph import matching

_BROADCASTS = frozenset({"BROADCAST", "_BROADCAST_OOP"})
_ENOUGH = 2
"""Numbers by which ranks are ahead, before that shows works completed without a peer."""


def mismatches_of_logs(
    calls: Sequence[Call], run: Run, known: Ranks, ref: Mapping[int, CallRef]
) -> Iterator[Mismatch]:
    """Yield the calls whose ranks name different operations, or different sizes of one.

    Then, at most one that some ranks passed although it needs ranks which still wait in it. Calls
    are compared only where their ranks surely speak of one group.

    Args:
        calls: as the logs tell of them.
        run: their events.
        known: all ranks that anything names.
        ref: the calls' names by their place.
    """
    groups = matching.Groups(calls, run.all(CollectiveTimeout))
    size = run.world.size
    alike = [c for c in enumerate(calls) if c[1].seq is not None and groups.is_one(c[1])]
    for place, call in alike:
        joins = matching.collective_joins(call)
        sizes = matching.sizes_of(joins)
        silent = matching.unheard(call, size)
        by_op = matching.variants(joins, {j.rank: j.op for j in joins})
        if len(by_op) > 1:
            yield Mismatch(
                call=ref[place],
                aspect=Aspect.OPERATION,
                variants=tuple(_variant(call, ranks) for ranks in by_op.values()),
                odd=matching.odd_ranks(by_op, silent),
            )
        elif len(call.ops) == 1 and len(set(sizes.values())) > 1:
            by_size = matching.variants(joins, sizes)
            yield Mismatch(
                call=ref[place],
                aspect=Aspect.SIZE,
                variants=tuple(_variant(call, ranks, s) for s, ranks in by_size.items()),
                odd=_short(call, sizes) or matching.odd_ranks(by_size, silent),
            )
    places = {id(call): place for place, call in alike}
    in_order = sorted((call for _, call in alike), key=lambda call: call.seq or 0)
    for behind in in_order:
        for ahead in sorted(groups.of(behind), key=lambda call: call.seq or 0):
            if id(ahead) in places and _contradict(behind, ahead, size, known):
                yield Mismatch(
                    call=ref[places[id(behind)]],
                    aspect=Aspect.NUMBER,
                    variants=(_variant(behind, behind.joined), _variant(ahead, ahead.joined)),
                    odd=_out_of_step(behind, ahead, size, known),
                    later=ahead.seq,
                )
                return


def _variant(call: Call, ranks: Ranks, size: int | None = None) -> Variant:
    """Some ranks' form of a call; `size` is what all must agree on, else what the first says."""
    first = next(join for join in call.joins.values() if join.rank in ranks)
    told = first.numel_in if size is None else size
    outputs = () if size is not None or first.numel_out is None else (first.numel_out,)
    kind = CallKind(first.op or "", () if told is None else (told,), outputs)
    return Variant(kind=kind, ranks=ranks, source=first.source)


def _short(call: Call, sizes: Mapping[Rank, int]) -> Ranks:
    """Those that wait for more of a broadcast than its root sent, which has gone on."""
    if not (call.ops <= _BROADCASTS and call.passed):
        return frozenset()
    return frozenset(rank for rank, size in sizes.items() if size > min(sizes.values()))


def _contradict(behind: Call, ahead: Call, size: int | None, known: Ranks) -> bool:
    """Whether the ranks ahead completed a work after the one that others still wait in."""
    if behind.seq is None or ahead.seq is None or ahead.seq <= behind.seq:
        return False
    if behind.ops & (matching.ROOTED | matching.POINT_TO_POINT):
        return False
    runners = ahead.joined - behind.joined
    if ahead.ops & matching.POINT_TO_POINT or not behind.joined:
        return False
    if runners and _all_are_seen(behind, ahead, size, known):
        return True
    return bool(runners - {Rank(0)}) and ahead.seq - behind.seq >= _ENOUGH


def _all_are_seen(behind: Call, ahead: Call, size: int | None, known: Ranks) -> bool:
    """Whether all ranks are seen: a reduction that some of them completed has all parts."""
    late, early = behind.joined, ahead.joined
    if size is None and behind.ops != ahead.ops:
        size = max(known | late | early) + 1
    if size is None or not early <= behind.passed:
        return False
    return not RankSpans.below(size) - (late | early)


def _out_of_step(behind: Call, ahead: Call, size: int | None, known: Ranks) -> Ranks:
    """The smaller side; both where all ranks are seen and nothing tells which it is."""
    late, early = behind.joined, ahead.joined
    if len(late) == len(early) and _all_are_seen(behind, ahead, size, known):
        return late | early
    return late if len(late) <= len(early) else early
