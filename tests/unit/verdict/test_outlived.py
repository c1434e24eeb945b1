"""Work after trouble, after a good end, and in the next run."""

from __future__ import annotations

import pytest

from support.builders import by, incident, source
from support.crashes import gone, raised, work
from unhang.model.events import Event, Finished
from unhang.verdict.outlived import counts_on, was_over


@pytest.mark.parametrize(
    ("before", "after", "goes_on"),
    [
        ((1, 5), (6, 9), True),
        ((1, 5), (5, 6), False),  # from the last checkpoint, perhaps another run
        ((1, 5), (1, 9), False),
        ((), (6,), False),
    ],
)
def test_a_run_that_counts_on_is_the_same(
    before: tuple[int, ...], after: tuple[int, ...], goes_on: bool
) -> None:
    runs = [
        incident(*(work(done, line=line) for line, done in enumerate(steps, 1)))
        for steps in (before, after)
    ]
    assert counts_on(runs) is goes_on
    assert not counts_on(runs[1:])


END = Finished(source=source(1), origin=by(), whole_job=True)


@pytest.mark.parametrize(
    ("events", "over"),
    [
        ([END, raised(0, line=2)], True),
        ([raised(0, line=1)], False),
        ([END], False),
        ([END, raised(0, line=2), work(7, line=3)], False),  # it was another job's end
        ([END, work(7, line=2), gone(0, exit_code=1, line=3)], True),
    ],
)
def test_a_job_was_over_where_its_end_stands_before_all_trouble(
    events: list[Event], over: bool
) -> None:
    assert was_over(incident(*events)) is over
