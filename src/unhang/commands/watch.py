"""`unhang watch RUN`: a live or finished run on the terminal."""

from __future__ import annotations

import sys

import click

from unhang.commands.output import language_option, locale_language
from unhang.errors import UsageError


@click.command(name="watch")
@click.argument("run", metavar="RUN")
@click.option("--replay", is_flag=True, help="Begin at the start of the run; , and . move.")
@click.option("--check", metavar="FILE", help="What `unhang check` had found (RUN/check.json).")
@language_option
def command(*, run: str, replay: bool, check: str | None, lang: str | None) -> int:
    """Show a run on the terminal: who waits for whom, since when.

    RUN is the folder of `unhang run`, while the job runs or later. Works over ssh. The keys , and .
    go back and forth in time, n follows the run again, q quits: the run goes on. Where
    `unhang check` had found fault with a host that others wait for now, its words stand beside it.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "unhang watch needs a terminal, and its input or output is none; `unhang serve RUN`"
            " shows the same in a browser, and `unhang diagnose RUN` prints the verdict"
        )
    from unhang.screens import watch

    watch(run, language=lang or locale_language(), replay=replay, check=check)
    return 0
