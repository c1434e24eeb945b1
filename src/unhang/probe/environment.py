"""What a command needs in its environment so that its processes bring up their probes.

The agent asks `additions`; the probe reads the same names with `Settings`. Both sides are here so
that no name is spelt twice.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

RUN, HOST, TIMEOUTS = "UNHANG_RUN", "UNHANG_HOST", "UNHANG_TIMEOUTS"
INTERVAL, DEADMAN = "UNHANG_INTERVAL_S", "UNHANG_DEADMAN_S"
OWNER = "UNHANG_OWNER"
"""Set by a rank for its children: which process it is, and of which rank."""

SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
"""The folder that goes first in PYTHONPATH."""

RESTARTS = "UNHANG_RESTARTS"
"""Set where the launcher is meant to start the job again: see `restarts`."""

LONG_LIMIT_MS = 24 * 3600 * 1000
"""Limit of a group whose hangs the judge ends, unless an order says otherwise."""


def additions(
    base: Mapping[str, str],
    *,
    run_folder: str,
    host: str | None = None,
    timeouts: str = "keep",
    restarts: bool = False,
) -> dict[str, str]:
    """Return the variables to set for the job; `base` is the environment it would have had.

    Args:
        base: is not changed; `UNHANG_INTERVAL_S` and `UNHANG_DEADMAN_S` in it are kept.
        run_folder: an absolute path.
        host: what boards and orders of this host are called; None = its host name.
        timeouts: `keep`, `judge`, or seconds.
        restarts: the launcher is meant to start the job again.
    """
    old = [place for place in base.get("PYTHONPATH", "").split(os.pathsep) if place]
    return {
        "PYTHONPATH": os.pathsep.join([SITE, *(place for place in old if place != SITE)]),
        RUN: run_folder,
        HOST: host or socket.gethostname(),
        TIMEOUTS: timeouts,
        **({RESTARTS: "1"} if restarts else {}),
    }


class Settings(NamedTuple):
    """What the probe was told.

    Attributes:
        run: the run folder.
        mode: `keep`, `judge` or `fixed`.
        limit_ms: of all process groups, where the mode is not `keep`.
        deadman_s: silence of the judge after which the program's own limits return.
    """

    run: str
    host: str
    mode: str = "keep"
    limit_ms: int = LONG_LIMIT_MS
    interval_s: float = 1.0
    deadman_s: float = 30.0


def settings(environ: Mapping[str, str]) -> Settings:
    """Read what `additions` wrote; an unusable number reads as the default."""
    timeouts = environ.get(TIMEOUTS, "keep")
    fixed_s = _number(timeouts, 0.0)
    mode = "fixed" if fixed_s else "judge" if timeouts == "judge" else "keep"
    return Settings(
        run=environ[RUN],
        host=environ.get(HOST) or socket.gethostname(),
        mode=mode,
        limit_ms=int(fixed_s * 1000) or LONG_LIMIT_MS,
        interval_s=_number(environ.get(INTERVAL, ""), 1.0),
        deadman_s=_number(environ.get(DEADMAN, ""), 30.0),
    )


def _number(text: str, default: float) -> float:
    try:
        number = float(text)
    except ValueError:
        return default
    return number if 0 < number < 1e9 else default
