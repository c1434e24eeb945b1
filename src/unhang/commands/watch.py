"""`unhang watch RUN`: a live or finished run on the terminal."""

from __future__ import annotations

import sys

import click

from unhang.commands.output import language_option, locale_language
from unhang.errors import UsageError


@click.command(name="watch")
@click.argument("run", metavar="RUN")
@click.option("--replay", is_flag=True, help="Start at the beginning of the run.")
@click.option("--check", metavar="FILE", help="Report of `unhang check` (default: RUN/check.json).")
@language_option
def command(*, run: str, replay: bool, check: str | None, lang: str | None) -> int:
    """Show a run in the terminal: who waits for whom, and since when.

    RUN is the folder that `unhang run` wrote; the job may be running or finished. Works over ssh.
    The keys , and . move back and forth in time, n returns to the present, and q quits (the job
    keeps running). If ranks wait for a host in which `unhang check` found a fault, that fault is
    shown beside it.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "unhang watch needs a terminal, and its input or output is not one; `unhang serve RUN`"
            " shows the same in a browser, and `unhang diagnose RUN` prints the verdict"
        )
    from unhang.screens import watch

    watch(run, language=lang or locale_language(), replay=replay, check=check)
    return 0
