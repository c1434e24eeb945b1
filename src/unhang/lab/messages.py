"""What the commands of drills print."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from unhang.lab.drill import Drill
from unhang.lab.machine import missing
from unhang.lab.scoring import Report
from unhang.lab.truth import Truth
from unhang.model.ids import format_ranks


def tell_drills(drills: Iterable[Drill], form: str) -> str:
    """The list of drills."""
    drills = tuple(drills)
    if form == "json":
        rows = [_row(drill) for drill in drills]
        return json.dumps({"schema": "unhang.drills/1", "drills": rows}, indent=1)
    width = max(len(drill.name) for drill in drills)
    return "\n".join(line for drill in drills for line in _lines(drill, width))


def tell_truth(truth: Truth, folder: Path) -> str:
    """What a drill that has run left."""
    happened = "nothing was to happen" if truth.finishes else f"the fault happened at {truth.at}"
    if truth.at is None and not truth.finishes:
        happened = "the fault never happened: the job did not reach that point"
    return "\n".join(
        (
            f"{truth.drill}: {happened}; the job ended with {truth.exit_code}"
            f" after {truth.seconds} s",
            f"  judge it: unhang drill judge {folder}",
            f"  read it:  unhang diagnose {folder}/logs {folder}/dumps {folder}/stacks",
        )
    )


def tell_report(report: Report) -> str:
    """Truth and verdicts, a line each."""
    truth = report.truth
    lines = [f"{truth.drill}: true is {truth.accept[0]}{_of(format_ranks(truth.culprits))}"]
    lines += [
        f"  {each.mark.value:<12} {each.sources}: {each.said}{_of(each.culprits)}"
        f" ({', '.join(each.fired)})"
        for each in report.judged
    ]
    if report.live is not None:
        lines.append(f"  {report.live.value:<12} live: {_live(report)}")
    return "\n".join(lines)


def _live(report: Report) -> str:
    if report.named is None:
        return "nothing named"
    ranks = format_ranks(report.named.culprits)
    after = "" if report.named_s is None else f" {report.named_s} s after the fault"
    return f"{report.named.level.value}{_of(ranks)}{after}: {report.named.why}"


def _of(ranks: str) -> str:
    return f" of rank {ranks}" if ranks else ""


def _lines(drill: Drill, width: int) -> tuple[str, str]:
    lacking = missing(drill.needs)
    needs = "".join(f"; needs {need.value}" for need in drill.needs)
    here = " (not here)" if lacking else ""
    return (
        f"{drill.name:<{width}}  {drill.summary}",
        f"{'':<{width}}    -> {drill.expected}{_of(format_ranks(drill.culprits))}{needs}{here}",
    )


def _row(drill: Drill) -> dict[str, object]:
    return {
        "name": drill.name,
        "summary": drill.summary,
        "expected": drill.expected,
        "accept": list(drill.accept),
        "culprits": sorted(drill.culprits),
        "phase": None if drill.phase is None else drill.phase.value,
        "needs": sorted(need.value for need in drill.needs),
        "missing": [need.value for need in missing(drill.needs)],
    }
