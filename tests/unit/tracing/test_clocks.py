"""Clocks of hosts from calls that they took part in: the error holds, and nothing is invented."""

from __future__ import annotations

import random

import pytest

from unhang.model.ids import Rank
from unhang.model.trace import CallKey, Slice, SliceKind
from unhang.tracing.clocks import align


def call(rank: int, number: int, begin: float, end: float, **changed: object) -> Slice:
    told = Slice(
        process=f"rank {rank}",
        rank=Rank(rank),
        host=f"node-{rank}",
        track="default_pg",
        name=f"all_reduce #{number}",
        kind=SliceKind.CALL,
        begin_s=begin,
        end_s=end,
        call=CallKey("0", str(number)),
        joint=True,
    )
    return told if not changed else Slice(**{**_fields(told), **changed})  # type: ignore[arg-type]


def _fields(one: Slice) -> dict[str, object]:
    return {name: getattr(one, name) for name in Slice.__slots__}


def job(offsets: list[float], calls: int, seed: int, late_s: float = 0.3) -> list[Slice]:
    """Members come at random times; the end is noticed some time after all have come."""
    rng = random.Random(seed)
    slices = []
    for number in range(calls):
        come = [number * 2 + rng.random() * late_s for _ in offsets]
        for rank, offset in enumerate(offsets):
            end = max(come) + rng.random() * 0.1
            slices.append(call(rank, number, come[rank] - offset, end - offset))
    return slices


@pytest.mark.parametrize("seed", range(8))
def test_the_true_offset_lies_within_the_stated_error(seed: int) -> None:
    rng = random.Random(seed)
    offsets = [0.0, *(rng.uniform(-40, 40) for _ in range(3))]
    aligned, clocks = align(job(offsets, 60, seed))
    assert [clock.clock for clock in clocks] == ["node-1", "node-2", "node-3"]
    for clock, true in zip(clocks, offsets[1:], strict=True):
        assert clock.error_s is not None
        assert abs(clock.offset_s - true) <= clock.error_s + 1e-9
        assert clock.error_s < 0.3
        assert clock.calls == 60
    ends: dict[str, list[tuple[float, float]]] = {}
    for one in aligned:
        assert one.call is not None
        assert one.end_s is not None
        ends.setdefault(one.call.number, []).append((one.begin_s, one.end_s))
    slack = 2 * max(clock.error_s or 0 for clock in clocks)
    for sides in ends.values():
        assert min(end for _, end in sides) >= max(begin for begin, _ in sides) - slack


def test_clocks_that_agree_are_left_alone() -> None:
    slices = job([0.0, 0.0], 30, 1)
    aligned, [clock] = align(slices)
    assert aligned == tuple(slices)
    assert clock.offset_s == 0.0
    assert clock.error_s is not None
    assert clock.error_s < 0.4


def test_a_clock_that_was_set_meanwhile_is_told_and_left_alone() -> None:
    before, after = job([0.0, 0.0], 10, 2), job([0.0, 90.0], 20, 2)
    slices = before + [s for s in after if s.begin_s > 25 or s.begin_s < -60]
    aligned, [clock] = align(slices)
    assert clock.error_s is None
    assert aligned == tuple(slices)


def test_what_need_not_wait_for_all_tells_nothing() -> None:
    slices = [call(r, n, 0.0 + n, 1.0 + n, joint=False) for r in (0, 1) for n in range(5)]
    _, [clock] = align(slices)
    assert clock.calls == 0
    assert clock.offset_s == 0.0


def test_clocks_are_compared_over_a_third_one() -> None:
    slices = []
    for number in range(20):
        for rank, offset, group in ((0, 0.0, "a"), (1, 5.0, "a"), (1, 5.0, "b"), (2, 9.0, "b")):
            slices.append(
                call(
                    rank, number, number - offset, number + 0.01 - offset,
                    call=CallKey(group, str(number)),
                )
            )  # fmt: skip
    _, clocks = align(slices)
    found = {clock.clock: clock.offset_s for clock in clocks}
    assert found["node-1"] == pytest.approx(5.0, abs=0.02)
    assert found["node-2"] == pytest.approx(9.0, abs=0.04)
