"""`unhang watch RUN`: a live or finished run on the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from unhang.commands.output import LANGUAGES, locale_language
from unhang.errors import UsageError


@click.command(name="watch")
@click.argument("run", metavar="RUN")
@click.option("--replay", is_flag=True, help="Begin at the start of the run; , and . move.")
@click.option("--lang", type=click.Choice(LANGUAGES), help="Language (default: from the locale).")
def command(*, run: str, replay: bool, lang: str | None) -> int:
    """Show who waits for whom, as it happens or later; RUN is the folder of `unhang run`.

    Works over ssh. The keys , and . go back and forth in time, n follows the run again, q quits:
    the run goes on.
    """
    try:
        from unhang.screens.terminal import Watch
    except ImportError as error:
        raise UsageError(
            "unhang watch needs Textual; install it with: pip install 'unhang[screens]'"
        ) from error
    Watch(Path(run), language=lang or locale_language(), replay=replay).run()
    return 0
