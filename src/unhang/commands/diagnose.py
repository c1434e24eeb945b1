"""`unhang diagnose PATH…`: one verdict from whatever is left of a failed job."""

from __future__ import annotations

from functools import partial

import click

from unhang.commands.output import with_style, write_result


@click.command(name="diagnose")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option(
    "--format",
    "form",
    type=click.Choice(("terminal", "json", "markdown")),
    default="terminal",
    show_default=True,
    help="How to print the verdict.",
)
@click.option(
    "--framework", metavar="NAME", help="Framework whose syntax fixes use, if the logs hide it."
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 when a cause was found.")
@with_style
def command(
    *,
    paths: tuple[str, ...],
    form: str,
    framework: str | None,
    exit_code: bool,
    lang: str | None,
    no_color: bool,
    output: str | None,
) -> int:
    """Name the guilty ranks and the root cause of a failed job.

    PATH is a log, a folder of logs, a glob, an archive, a URL, or - for standard input. Give
    everything that is left of the job: the more ranks, the surer the verdict.
    """
    from unhang.api import diagnose
    from unhang.commands.progress import ReadingProgress
    from unhang.model.diagnosis import Outcome
    from unhang.reporters import render

    with ReadingProgress() as progress:
        diagnosis = diagnose(*paths, framework=framework, progress=progress)
    write_result(partial(render, diagnosis, form), lang=lang, no_color=no_color, output=output)
    return int(exit_code and diagnosis.outcome is Outcome.CAUSE)
