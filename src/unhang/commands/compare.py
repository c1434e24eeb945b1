"""`unhang compare BEFORE AFTER`: whether a change did what it should."""

from __future__ import annotations

from functools import partial

import click

from unhang.commands.output import Target, with_form, with_target


@click.command(name="compare")
@click.argument("before")
@click.argument("after")
@click.option(
    "--before", "more_before", multiple=True, metavar="PATH", help="Another run before it."
)
@click.option("--after", "more_after", multiple=True, metavar="PATH", help="Another run after it.")
@with_form("terminal", "json", "markdown", "html", prints="the comparison")
@with_target
def command(
    *,
    before: str,
    after: str,
    more_before: tuple[str, ...],
    more_after: tuple[str, ...],
    form: str,
    to: Target,
) -> int:
    """Say whether runs fail less often after a change than before it.

    BEFORE and AFTER are each a folder of run folders (`unhang run`), a single run folder, a table
    of jobs (CSV, TSV or JSON lines with the columns name, hours or started and ended, failed,
    hang, cause), a verdict (`unhang diagnose --format json`), or the logs of one run.

    The answer is better, worse, no difference shown, or too few runs, with exact confidence
    intervals, one significance test, and the number of further hours that would decide.
    """
    from unhang.api import compare
    from unhang.reporters.compare import render_comparison

    comparison = compare((before, *more_before), (after, *more_after))
    to.write(partial(render_comparison, comparison, form))
    return 0
