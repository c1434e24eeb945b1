"""`unhang drill`: faults on purpose, in real jobs on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.group(name="drill")
def command() -> None:
    """Run a real job that fails in a known way, and mark the verdict."""


@command.command(name="list")
@click.option(
    "--format",
    "form",
    type=click.Choice(("terminal", "json")),
    default="terminal",
    show_default=True,
    help="How to print the list.",
)
def list_drills(*, form: str) -> None:
    """Show every drill: what it does, the right verdict, what it needs."""
    from unhang.lab.drills import DRILLS
    from unhang.lab.telling import tell_drills

    click.echo(tell_drills(DRILLS, form))


@command.command(name="run", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.option("--out", metavar="DIR", help="New folder for the artifacts (default: drill-NAME).")
@click.option("--live", is_flag=True, help="Run the job under `unhang run --out DIR/run`.")
@click.option(
    "--limit", type=click.FloatRange(min=1), metavar="S", help="A collective gives up after S s."
)
@click.option(
    "--within",
    type=click.FloatRange(min=1),
    default=55.0,
    show_default=True,
    metavar="S",
    help="End the job after S s.",
)
@click.argument("job", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
def run_one(
    *,
    name: str,
    out: str | None,
    live: bool,
    limit: float | None,
    within: float,
    job: tuple[str, ...],
) -> None:
    """Run a drill, on the lab's training script or on COMMAND, and write the truth beside it.

    COMMAND is any launch command (`torchrun … train.py`); the faults are put into it unchanged.
    """
    from unhang.lab.drills import find_drill
    from unhang.lab.running import run_drill
    from unhang.lab.telling import tell_truth

    drill = find_drill(name)
    folder = Path(out or f"drill-{name}")
    truth = run_drill(
        drill,
        folder,
        command=job,
        live=() if live else None,
        limit_s=limit,
        within_s=within,
    )
    click.echo(tell_truth(truth, folder))


@command.command(name="judge")
@click.argument("folder", metavar="DIR")
@click.option(
    "--format",
    "form",
    type=click.Choice(("terminal", "json")),
    default="terminal",
    show_default=True,
    help="How to print the comparison.",
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 when a verdict is wrong.")
def judge_one(*, folder: str, form: str, exit_code: bool) -> int:
    """Diagnose what a drill left in DIR, and compare with the truth."""
    from unhang.lab.judging import Mark, judge_drill
    from unhang.lab.telling import tell_report

    report = judge_drill(Path(folder))
    click.echo(json.dumps(report.to_json()) if form == "json" else tell_report(report))
    return int(exit_code and any(each.mark is Mark.WRONG for each in report.judged))
