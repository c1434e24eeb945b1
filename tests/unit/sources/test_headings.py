"""Headings and loggers say who prints the lines below them, and nothing that they do not say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import NOBODY, Origin
from unhang.sources.headings import SpeakersAbove

BARE = "ValueError: too many values"
HEADER = "Traceback (most recent call last):"
no_deadline = settings(deadline=None)


def below(*lines: str, own: Origin = NOBODY) -> Origin:
    """Who prints the last of `lines`."""
    above = SpeakersAbove(own)
    return [above.base(line, gap=False) for line in lines][-1]


@no_deadline
@given(
    st.integers(min_value=0, max_value=9_999),
    st.sampled_from(["-----", "======", "#### ", "*** ", "~~~~"]),
    st.sampled_from(["", "Begin ", "stderr of ", "output from ", "log: ", "last 50 lines of "]),
    st.sampled_from(["rank ", "rank=", "global rank ", "Rank ", "rank_"]),
    st.sampled_from(["", " STDERR", " log"]),
)
def test_a_heading_names_who_prints_below(
    rank: int, rule: str, lead: str, axis: str, tail: str
) -> None:
    close = rule.strip()[:4]
    assert below(f"{rule}{lead}{axis}{rank}{tail} {close}", "step 1", BARE).rank == Rank(rank)


@pytest.mark.parametrize(
    ("heading", "origin"),
    [
        ("==> logs/rank3.log <==", Origin(rank=Rank(3))),
        ("==> /var/log/node-2/err.txt <==", Origin(host="node-2")),
        ("---- local rank 2 ----", Origin(local_rank=LocalRank(2))),
        ("=== node gpu-07 ===", Origin(host="gpu-07")),
        ("-- rank 3 did not answer for 60 s --", NOBODY),
        ("---- epoch 3 ----", NOBODY),
        ("rank 3", NOBODY),
    ],
)
def test_only_a_heading_is_one(heading: str, origin: Origin) -> None:
    assert below(heading, BARE) == origin


def test_the_end_of_a_section_ends_it() -> None:
    lines = ("----Begin global rank 5 STDERR----", "x", "----End global rank 5 STDERR----")
    assert below(*lines, BARE) == NOBODY


@pytest.mark.parametrize(
    "above",
    [
        "2026-06-06 06:09:31.669 | ERROR    | loop:run:240 - rank=6 | An error has been caught",
        "E0119 01:03:25.524178 140251 train_lib.py:230] [rank 6] train step failed",
        "[rank6] exception:",
        "[rank 6] the step raised an exception",
    ],
)
def test_a_logger_marks_the_first_line_of_its_exception(above: str) -> None:
    lines = (above, HEADER, '  File "a.py", line 3, in f', "    g()", BARE)
    assert below(*lines).rank == Rank(6)
    assert below(*lines, "step 12 done").rank is None


@pytest.mark.parametrize(
    "above",
    [
        "[rank 0] worker 3 died:",
        "[rank 0] rank 3 failed with:",
        "ERROR rank=0 | child process failed:",
        "[rank0]: step 12 done",
        "[rank0]:[E314 14:33:45.172185860 ProcessGroupNCCL.cpp:607] it failed:",
        "an exception:",
    ],
)
def test_who_tells_of_another_or_of_no_error_passes_nothing_on(above: str) -> None:
    assert below(above, HEADER) == NOBODY
    assert below(above, HEADER, BARE) == NOBODY


def test_a_gap_ends_what_a_logger_began() -> None:
    above = SpeakersAbove(NOBODY)
    above.base("[rank 6] exception:", gap=False)
    assert above.base(HEADER, gap=True) == NOBODY


@pytest.mark.parametrize(
    "heading",
    [
        "--- 3 ---",
        "### worker 3",
        "node-a-0  pid 6620 rank 3",
        "== pid 4013 RANK=RANK=3",
        "=== 16:02 rank3 pid 2201 ===",
        "$ sudo gdb -p 2201 -batch -ex bt | tail     # rank 3",
    ],
)
def test_what_stands_above_a_stack_names_its_rank(heading: str) -> None:
    stack = 'Thread 2201 (active): "MainThread"', "    forward (model.py:7)"
    assert below(heading, *stack).rank == Rank(3)


@pytest.mark.parametrize("heading", ["--- 3 ---", "### worker 3"])
def test_a_number_above_anything_else_names_nobody(heading: str) -> None:
    assert below(heading, "step 3 of 9", "    forward (model.py:7)").rank is None
