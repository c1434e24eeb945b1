"""`unhang watch RUN`: a live or finished run on the terminal."""

from __future__ import annotations

import click

from unhang.commands.output import LANGUAGES, locale_language


@click.command(name="watch")
@click.argument("run", metavar="RUN")
@click.option("--replay", is_flag=True, help="Begin at the start of the run; , and . move.")
@click.option("--lang", type=click.Choice(LANGUAGES), help="Language (default: from the locale).")
def command(*, run: str, replay: bool, lang: str | None) -> int:
    """Show a run on the terminal: who waits for whom, since when.

    RUN is the folder of `unhang run`, while the job runs or later. Works over ssh. The keys , and .
    go back and forth in time, n follows the run again, q quits: the run goes on.
    """
    from unhang.screens import watch

    watch(run, language=lang or locale_language(), replay=replay)
    return 0
