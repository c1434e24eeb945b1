"""Runs drills, judges each, and writes a page: `make drills`, and `make drill-live`.

Each row is one run of real processes over gloo; every number is measured. A drill that this
machine cannot run has a row that says so.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import click

from drills import afterwards_page, live_page
from drills.runs import Result, run_all
from unhang.lab.drills import DRILLS
from unhang.lab.leftovers import LeftBehind
from unhang.lab.scoring import Mark


@click.command()
@click.option("--write", type=click.Path(path_type=Path), help="The page to write.")
@click.option("--only", multiple=True, metavar="NAME", help="Drills to run (default: all).")
@click.option("--live", is_flag=True, help="Run each under `unhang run`, and mark what it says.")
@click.option("--jobs", default=2, show_default=True, metavar="N", help="So many at a time.")
@click.option("--keep", type=click.Path(path_type=Path), help="Folder that keeps the artifacts.")
@click.option("--reuse", is_flag=True, help="Judge what the kept folder holds, run what it lacks.")
def main(
    *,
    write: Path | None,
    only: tuple[str, ...],
    live: bool,
    jobs: int,
    keep: Path | None,
    reuse: bool,
) -> None:
    """Run the drills, and write the page."""
    wanted = [drill for drill in DRILLS if not only or drill.name in only]
    root = keep or Path(tempfile.mkdtemp(prefix="unhang-drills-"))
    began_s = time.monotonic()
    results: dict[str, Result] = {}
    try:
        with LeftBehind(root) as watched:
            for result in run_all(wanted, root, live=live, jobs=jobs, reuse=reuse):
                results[result.drill.name] = result
                row = live_page.row(result) if live else afterwards_page.row(result)
                click.echo(" | ".join(row))
        left = watched.names()
    finally:
        if keep is None:
            shutil.rmtree(root, ignore_errors=True)
    ordered = [results[drill.name] for drill in wanted]
    minutes = (time.monotonic() - began_s) / 60
    if write is not None:
        lines = (
            live_page.page(ordered, left, minutes) if live else afterwards_page.page(ordered, left)
        )
        write.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _conclude(ordered, left, minutes, live=live)


def _conclude(results: list[Result], left: list[str], minutes: float, *, live: bool) -> None:
    if live:
        run = [result for result in results if result.report is not None]
        faults = [result for result in run if not result.drill.finishes]
        healthy = [result for result in run if result.drill.finishes]
        click.echo("\n".join(text.strip() for text in live_page.totals(faults, healthy)))
    click.echo(f"{minutes:.1f} minutes")
    bad = list(_unsound(results, live=live))
    if bad or left:
        click.echo(f"not as it should be: {', '.join((*bad, *left))}")
        sys.exit(1)


def _unsound(results: list[Result], *, live: bool) -> Iterable[str]:
    """Drills of which something false was said, and those that left nothing to judge."""
    for result in results:
        if result.report is None:
            if result.failure:
                yield result.drill.name
            continue
        marks = [each.mark for each in result.report.judged]
        if Mark.WRONG in ([result.report.live] if live else marks):
            yield result.drill.name


if __name__ == "__main__":
    main()
