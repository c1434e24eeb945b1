"""From two sets of runs to whether a change did what it should."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.comparing.decision import Counts, decide, needed
from unhang.comparing.intervals import rate_ratio
from unhang.comparing.runs import Judge, read_runs
from unhang.comparing.settings import changed
from unhang.comparing.summary import sum_up
from unhang.model.comparison import Comparison, RunFacts
from unhang.model.provenance import Problem

__all__ = ["Judge", "compare_runs", "read_runs"]


def compare_runs(
    before: Sequence[RunFacts], after: Sequence[RunFacts], problems: Sequence[Problem] = ()
) -> Comparison:
    """Compare failures by the hour where all runs tell their hours, else by the start."""
    one, two = sum_up(before), sum_up(after)
    hours = (one.hours, two.hours) if one.hours and two.hours else None
    exposure = hours or (float(one.runs), float(two.runs))
    counts = Counts(one.failures, exposure[0], two.failures, exposure[1])
    answer, p = decide(counts, by_starts=hours is None)
    rates = sorted((one.failures / exposure[0], two.failures / exposure[1]), reverse=True)
    return Comparison(
        answer=answer,
        by="starts" if hours is None else "hours",
        before=one,
        after=two,
        ratio=rate_ratio(one.failures, exposure[0], two.failures, exposure[1]),
        p=p,
        needed=needed(rates[0], rates[1], by_starts=hours is None),
        settings=changed(before, after),
        problems=tuple(problems),
    )
