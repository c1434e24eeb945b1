"""`unhang compare BEFORE AFTER`: whether a change did what it should."""

from __future__ import annotations

from functools import partial

import click

from unhang.commands.output import with_style, write_result


@click.command(name="compare")
@click.argument("before")
@click.argument("after")
@click.option("--before", "more_before", multiple=True, metavar="PATH", help="One more run before.")
@click.option("--after", "more_after", multiple=True, metavar="PATH", help="One more run after.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("terminal", "json", "markdown", "html")),
    default="terminal",
    show_default=True,
    help="How to print the comparison.",
)
@with_style
def command(
    *,
    before: str,
    after: str,
    more_before: tuple[str, ...],
    more_after: tuple[str, ...],
    form: str,
    lang: str | None,
    no_color: bool,
    output: str | None,
) -> int:
    """Say whether runs after a change fail less often than before it.

    BEFORE and AFTER are each a folder of run folders (`unhang run`), a single run folder, a table
    of jobs (CSV, TSV or JSON lines with the columns name, hours or started and ended, failed,
    hang, cause), a verdict (`unhang diagnose --format json`), or the logs of one run.

    The answer is better, worse, no difference shown, or too few runs: exact intervals, one test,
    and how much more watching would decide.
    """
    from unhang.api import compare
    from unhang.reporters.compare import render_comparison

    comparison = compare((before, *more_before), (after, *more_after))
    write_result(
        partial(render_comparison, comparison, form), lang=lang, no_color=no_color, output=output
    )
    return 0
