"""From calls that several hosts took part in to how their clocks differ, with the error.

Nobody can leave an all-reduce before everybody has come: what a member notes as its end lies after
what every other member notes as its begin. Over many calls that holds the difference of two clocks
between two bounds; half their distance is the error. No network delay is assumed, and nothing is
changed where the clocks may well agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from unhang.model.trace import ClockOffset, Slice

_INFINITE = float("inf")


@dataclass(slots=True)
class _Bounds:
    """Between what and what lies the number that one clock must be moved by."""

    low: float = -_INFINITE
    high: float = _INFINITE
    calls: int = 0


def align(slices: Sequence[Slice]) -> tuple[tuple[Slice, ...], tuple[ClockOffset, ...]]:
    """Return the slices on the clock of the first one, and what was done to the others."""
    bounds = _pairs(slices)
    clocks = sorted({_clock(s) for s in slices if s.kind.value == "collective"}, key=_order)
    if len(clocks) < 2:
        return tuple(slices), ()
    known: dict[str, ClockOffset] = {
        clocks[0]: ClockOffset(clock=clocks[0], offset_s=0.0, error_s=0.0, calls=0)
    }
    front = [clocks[0]]
    while front:
        base = known[front.pop(0)]
        for other in clocks:
            found = bounds.get((base.clock, other))
            if other not in known and found is not None:
                known[other] = _offset(other, found, base)
                front.append(other)
    told = [
        known.get(clock, ClockOffset(clock=clock, offset_s=0.0, error_s=None, calls=0))
        for clock in clocks[1:]
    ]
    moved = {offset.clock: offset.offset_s for offset in told if offset.offset_s}
    if not moved:
        return tuple(slices), tuple(told)
    return tuple(shifted(s, moved.get(_clock(s), 0.0)) for s in slices), tuple(told)


def _pairs(slices: Iterable[Slice]) -> Mapping[tuple[str, str], _Bounds]:
    """What shared calls tell of pairs of clocks: by the first member's of each call, both ways."""
    calls: dict[object, dict[str, tuple[float, float]]] = defaultdict(dict)
    for one in slices:
        if one.call is not None and one.joint and one.end_s is not None and one.end_s > one.begin_s:
            sides = calls[one.call]
            clock = _clock(one)
            begin, end = sides.get(clock, (-_INFINITE, _INFINITE))
            sides[clock] = (max(begin, one.begin_s), min(end, one.end_s))
    found: dict[tuple[str, str], _Bounds] = defaultdict(_Bounds)
    for sides in calls.values():
        if len(sides) < 2:
            continue
        hub = min(sides, key=_order)
        hub_begin, hub_end = sides[hub]
        for clock, (begin, end) in sides.items():
            if clock != hub:
                _narrow(found[hub, clock], hub_begin - end, hub_end - begin)
                _narrow(found[clock, hub], begin - hub_end, end - hub_begin)
    return found


def _narrow(bounds: _Bounds, low: float, high: float) -> None:
    bounds.low, bounds.high = max(bounds.low, low), min(bounds.high, high)
    bounds.calls += 1


def _offset(clock: str, bounds: _Bounds, base: ClockOffset) -> ClockOffset:
    low, high = bounds.low, bounds.high
    if low > high or base.error_s is None:
        return ClockOffset(clock=clock, offset_s=base.offset_s, error_s=None, calls=bounds.calls)
    agree = low <= 0.0 <= high
    offset = 0.0 if agree else (low + high) / 2
    error = max(high, -low) if agree else (high - low) / 2
    return ClockOffset(
        clock=clock,
        offset_s=base.offset_s + offset,
        error_s=base.error_s + error,
        calls=bounds.calls,
    )


def shifted(one: Slice, by_s: float) -> Slice:
    """The same slice, later."""
    if not by_s:
        return one
    end = None if one.end_s is None else one.end_s + by_s
    return replace(one, begin_s=one.begin_s + by_s, end_s=end)


def _clock(one: Slice) -> str:
    return one.host or one.process


def _order(clock: str) -> tuple[int, str]:
    digits = "".join(filter(str.isdigit, clock))[-9:]
    return (int(digits) if digits and clock.startswith("rank ") else 0, clock)
