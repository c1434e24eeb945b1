"""Runs all drills of the kit, judges each, and writes `docs/drills.md`: `make drills`.

Each row is one run of real processes over gloo; every number is measured. A drill that this
machine cannot run has a row that says so.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

import click

from unhang.lab.drill import Drill
from unhang.lab.drills import DRILLS
from unhang.lab.judging import Judged, Mark, Report, judge_drill
from unhang.lab.leftovers import left_behind, look_around
from unhang.lab.machine import missing
from unhang.lab.running import run_drill
from unhang.lab.truth import FILE
from unhang.model.ids import format_ranks

_HEADINGS = ("drill", "what happens", "right verdict", "job, s")
_ASKED = ("from the logs alone", "with dumps and stacks", "judged in, s")
_LIVE = ("named live", "after the fault, s")


@dataclass(frozen=True, slots=True)
class Result:
    """One drill that has run, or that cannot run here (`report` None)."""

    drill: Drill
    report: Report | None
    live: Report | None
    left: tuple[str, ...]


@click.command()
@click.option("--write", type=click.Path(path_type=Path), help="The page to write.")
@click.option("--only", multiple=True, metavar="NAME", help="Drills to run (default: all).")
@click.option("--live/--no-live", default=True, help="Run each under `unhang run` as well.")
@click.option("--keep", type=click.Path(path_type=Path), help="Folder that keeps the artifacts.")
@click.option("--reuse", is_flag=True, help="Judge what the kept folder holds, run what it lacks.")
def main(
    write: Path | None, only: tuple[str, ...], live: bool, keep: Path | None, reuse: bool
) -> None:
    """Run the drills, and write the page."""
    wanted = [drill for drill in DRILLS if not only or drill.name in only]
    root = keep or Path(tempfile.mkdtemp(prefix="unhang-drills-"))
    try:
        results = [_run(drill, root, live=live, reuse=reuse) for drill in wanted]
    finally:
        if keep is None:
            shutil.rmtree(root, ignore_errors=True)
    if write is not None:
        live = any(result.live is not None for result in results)
        write.write_text("\n".join(_page(results, live=live)) + "\n", encoding="utf-8")
    wrong = [r.drill.name for r in results if r.report is not None and not _is_sound(r)]
    if wrong:
        click.echo(f"wrong, or something was left behind: {', '.join(wrong)}")
        sys.exit(1)


def _run(drill: Drill, root: Path, *, live: bool, reuse: bool) -> Result:
    if missing(drill.needs):
        return Result(drill, None, None, ())
    before = look_around()
    report = _rehearse(drill, root / drill.name, reuse=reuse)
    place = root / f"{drill.name}-live"
    kept = reuse and (place / FILE).exists()
    watched = _rehearse(drill, place, live=(), reuse=reuse) if live or kept else None
    left = (*left_behind(root / drill.name, before), *left_behind(place, before))
    result = Result(drill, report, watched, left)
    click.echo(" ".join(_cell(text) for text in _row(result, live=True)))
    return result


def _rehearse(
    drill: Drill, folder: Path, *, live: tuple[str, ...] | None = None, reuse: bool
) -> Report:
    if not (reuse and (folder / FILE).exists()):
        shutil.rmtree(folder, ignore_errors=True)
        run_drill(drill, folder, live=live)
    return judge_drill(folder)


def _is_sound(result: Result) -> bool:
    """Nothing false was said, all was right with everything at hand, and nothing was left."""
    if result.report is None:
        return True
    marks = [each.mark for each in result.report.judged]
    lived = result.live is None or result.live.live is not Mark.WRONG
    return Mark.WRONG not in marks and marks[-1] is Mark.RIGHT and lived and not result.left


def _page(results: list[Result], *, live: bool) -> Iterable[str]:
    headings = (*_HEADINGS, *_ASKED, *(_LIVE if live else ()))
    yield from (
        "<!-- Made by `make drills`; edit tools/drills.py, not this page. -->",
        "",
        "# Drills",
        "",
        "Faults put on purpose into real jobs of this machine, and what was said of what they",
        "left. Nothing is mocked: processes, torchrun, gloo, signals, control groups, network",
        "namespaces and file systems are real. GPUs and NCCL are not part of it, and a sleep or a",
        "loop stands for the slow work. `unhang drill run NAME` runs one of them, on your own",
        "launch command too (`-- torchrun … train.py`).",
        "",
        f"{_facts()}.",
        "",
        *_sums(results, live=live),
        "",
        _line(headings),
        _line(["---"] * len(headings)),
    )
    yield from (_line(_row(result, live=live)) for result in results)
    yield from (
        "",
        "*Right*: the cause (or, where the list of causes has none, who and where) and exactly the",
        "culprits. *Undetermined*: nothing false, but not all. Links that fail count as right when",
        "the verdict abstains: nothing in logs, dumps and stacks over gloo shows a link. Live,",
        "*hang* was named while the job hung, *end* is the verdict on a job that had ended before;",
        "nothing is named where the late rank is at work, which is no fault; empty: not run live.",
        "Faults are put in by `unhang.lab.faults`; the training script is",
        "`unhang/lab/scripts/train.py`. Situations with the frameworks themselves have pages of",
        "their own, in `situations/`.",
    )


def _facts() -> str:
    cores = len(os.sched_getaffinity(0))
    day = datetime.now(timezone.utc).date().isoformat()
    return (
        f"Measured on {day} on {cores} cores, Linux {platform.release()}, Python"
        f" {platform.python_version()}, torch {metadata.version('torch')}, at a load of"
        f" {os.getloadavg()[2]:.0f}"
    )


def _sums(results: list[Result], *, live: bool) -> Iterable[str]:
    run = [result.report for result in results if result.report is not None]
    yield _sum("From the logs alone", [report.judged[0].mark for report in run])
    yield _sum("With dumps and stacks", [report.judged[-1].mark for report in run])
    if live:
        watched = [r.live.live for r in results if r.live is not None and r.live.live is not None]
        yield _sum("Live", watched)
    left = [name for result in results for name in result.left]
    yield f"Left behind: {', '.join(left) or 'nothing'}."


def _sum(title: str, marks: list[Mark]) -> str:
    counts = ", ".join(f"{marks.count(mark)} {mark.value}" for mark in Mark)
    return f"{title}: {counts} of {len(marks)}.  "


def _row(result: Result, *, live: bool) -> tuple[str, ...]:
    drill, report = result.drill, result.report
    first = (f"`{drill.name}`", drill.summary, drill.expected + _of(drill.culprits))
    if report is None:
        lacking = ", ".join(need.value for need in missing(drill.needs))
        return (*first, f"not run: needs {lacking}", *("",) * (5 if live else 3))
    logs, everything = report.judged[0], report.judged[-1]
    judged = (_said(logs), _said(everything), f"{everything.seconds:.2f}")
    return (*first, str(report.truth.seconds), *judged, *(_named(result.live) if live else ()))


def _named(report: Report | None) -> tuple[str, str]:
    if report is None or report.live is None:
        return "", ""
    if report.named is None:
        return f"{report.live.value}: nothing", ""
    after = "" if report.named_s is None else str(report.named_s)
    kind = "hang" if report.named.hang else "end"
    return f"{report.live.value}: {kind}{_of(report.named.culprits)}", after


def _said(judged: Judged) -> str:
    who = f" of rank {judged.culprits}" if judged.culprits else ""
    return f"{judged.mark.value}: {judged.said}{who}"


def _of(ranks: Iterable[int]) -> str:
    text = format_ranks(ranks)
    return f" of rank {text}" if text else ""


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
