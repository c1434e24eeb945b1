"""Waits that began so late that an earlier fact cannot be their reason."""

from __future__ import annotations

import pytest

from support.builders import at, timeout
from unhang.model.waiting import first_wait_after_s, worked_on_after

LASTED_S = 600.05


def test_a_wait_is_dated_by_its_beginning() -> None:
    after_s = first_wait_after_s(at(100), [timeout(0, when=800)])
    assert after_s == pytest.approx(700 - LASTED_S)


@pytest.mark.parametrize(
    ("gap_s", "worked"),
    [(60, False), (1_200, False), (2_700, True), (8 * 3_600, False), (90_000, True)],
)
def test_the_job_worked_on_for_long(gap_s: float, worked: bool) -> None:
    """Eight hours to the minute are two time zones, not a run of eight hours."""
    waits = [timeout(0, when=gap_s + LASTED_S)]
    assert worked_on_after(at(0), waits) is worked


def test_an_undated_wait_tells_nothing() -> None:
    assert first_wait_after_s(at(0), [timeout(0)]) is None
    assert not worked_on_after(at(0), [])
