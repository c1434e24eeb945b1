"""`unhang diagnose PATH…`: one verdict from whatever is left of a failed job."""

from __future__ import annotations

from functools import partial

import click

from unhang.commands.output import with_style, write_result
from unhang.commands.redacting import redactor_for, with_patterns
from unhang.errors import UsageError


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
@click.option(
    "--redact/--no-redact",
    "redact",
    default=None,
    help="Replace secrets in the report (default: in Markdown, which is made for pasting).",
)
@with_patterns
@click.option("--exit-code", is_flag=True, help="Exit with 1 when a cause was found.")
@with_style
def command(
    *,
    paths: tuple[str, ...],
    form: str,
    framework: str | None,
    redact: bool | None,
    redact_hosts: bool,
    redact_patterns: tuple[str, ...],
    redact_rules: str | None,
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
    from unhang.reporters import PUBLIC_FORMS, redacted, render

    asked = redact_hosts or redact_patterns or redact_rules is not None
    if redact is None:
        redact = bool(asked) or form in PUBLIC_FORMS
    elif not redact and asked:
        raise UsageError("--no-redact contradicts the other --redact options; give one of them")
    redactor = (
        redactor_for(hosts=redact_hosts, patterns=redact_patterns, rules=redact_rules)
        if redact
        else None
    )

    with ReadingProgress() as progress:
        diagnosis = diagnose(*paths, framework=framework, progress=progress)
    if redactor is not None:
        diagnosis = redacted(diagnosis, redactor)
    write_result(
        partial(render, diagnosis, form, redact=False), lang=lang, no_color=no_color, output=output
    )
    return int(exit_code and diagnosis.outcome is Outcome.CAUSE)
