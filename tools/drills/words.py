"""From results to what is said of them: cells, rows, counts."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from datetime import datetime, timezone
from importlib import metadata

from drills.runs import Result
from unhang.lab.machine import missing
from unhang.lab.scoring import Judged, Mark, Report
from unhang.model.ids import format_ranks


def facts() -> str:
    """Where and when it was measured."""
    cores = len(os.sched_getaffinity(0))
    day = datetime.now(timezone.utc).date().isoformat()
    return (
        f"Measured on {day} on {cores} cores, Linux {platform.release()}, Python"
        f" {platform.python_version()}, torch {metadata.version('torch')}, at a load of"
        f" {os.getloadavg()[2]:.0f}"
    )


def counts(marks: Iterable[Mark]) -> str:
    """How many verdicts are right, undetermined, wrong."""
    marks = list(marks)
    return f"{', '.join(f'{marks.count(m)} {m.value}' for m in Mark)} of {len(marks)}"


def truth_of(result: Result) -> str:
    """The right verdict."""
    return result.drill.expected + of(result.drill.culprits)


def not_run(result: Result) -> str:
    """Why there is no verdict."""
    lacking = ", ".join(need.value for need in missing(result.drill.needs))
    return f"not run: needs {lacking}" if lacking else f"failed: {result.failure[:200]}"


def afterwards(judged: Judged) -> str:
    """A verdict on what is left of a job."""
    who = f" of rank {judged.culprits}" if judged.culprits else ""
    return f"{judged.mark.value}: {judged.said}{who}"


def live(report: Report) -> str:
    """What the judge that watched said first of those who are guilty."""
    if report.named is None:
        return "nothing"
    said = f": {report.named.said}" if report.named.said is not None else ""
    return f"{report.named.level.value}{of(report.named.culprits)}{said}"


def of(ranks: Iterable[int]) -> str:
    """Whom it is about."""
    text = format_ranks(ranks)
    return f" of rank {text}" if text else ""


def line(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    """A whole table."""
    yield line(headings)
    yield line(["---"] * len(headings))
    yield from map(line, rows)
