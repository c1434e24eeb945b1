"""From a run folder to screens: a terminal, a web page, Prometheus; they only ever read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from unhang.errors import UsageError

if TYPE_CHECKING:
    from unhang.screens.server import Server


def watch(
    run: str | os.PathLike[str],
    *,
    language: str = "en",
    replay: bool = False,
    check: str | os.PathLike[str] | None = None,
) -> None:
    """Show a run on the terminal until the reader quits.

    Args:
        run: folder of `unhang run`, while the job runs or later.
        language: `en` or `zh`.
        replay: begin at the start of the run, not at its present state.
        check: a report of `unhang check`; None = `check.json` of the run folder, if there is one.

    Raises:
        UsageError: it is no run folder, the report cannot be read, or Textual is not installed.
    """
    try:
        from unhang.screens.terminal import Watch
    except ImportError as error:
        raise UsageError(
            "unhang watch needs Textual; install it with: pip install 'unhang[screens]'"
        ) from error
    before = None if check is None else Path(check)
    Watch(Path(run), language=language, replay=replay, check=before).run()


def serve(
    run: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    open_to_all: bool = False,
    language: str = "en",
) -> Server:
    """Return a server of a run's web page that listens; `serve_forever()` answers.

    Args:
        run: folder of `unhang run`, while the job runs or later.
        host: address to listen on.
        port: 0 = any that is free.
        token: what a reader must show; None = made up (see `Server.url`).
        open_to_all: no token is needed; only for the address of this machine itself.
        language: `en` or `zh`.

    Raises:
        UsageError: it is no run folder, or the port cannot be had.
    """
    from unhang.screens.server import Server

    return Server(
        Path(run), host=host, port=port, token=token, open_to_all=open_to_all, language=language
    )
