"""From what the user typed to a request that can be carried out, or to a sentence why not."""

from __future__ import annotations

import os
import re
import socket
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from unhang.errors import UsageError
from unhang.live.request import (
    ABORT,
    COMMAND,
    FIXED,
    JUDGE,
    KEEP,
    REPORT,
    RunRequest,
    Timeouts,
)
from unhang.notify import read_targets
from unhang.reporters.style import Style

_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
_SECONDS = (3600, 60, 1)

_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_RUNS = "unhang-runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The options of `unhang run`, as they were typed; None = not given."""

    words: tuple[str, ...]
    out: str | None
    timeouts: str
    on_hang: str
    notify: tuple[str, ...]
    nodes: int | None
    node_rank: int | None
    collector: str | None
    shared: str | None
    style: Style


def ask(wishes: Wishes) -> RunRequest:
    """Make a request of them.

    Raises:
        UsageError: it cannot be carried out.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError(f"unhang run needs Linux, and this is {sys.platform}")
    read_targets(wishes.notify)  # now, and not when somebody must be told
    return RunRequest(
        command=wishes.words,
        root=choose_folder(wishes.out, wishes.words[0]),
        host=host_label(),
        timeouts=read_timeouts(wishes.timeouts),
        on_hang=_read_on_hang(wishes.on_hang),
        notify=wishes.notify,
        nodes=wishes.nodes,
        node_rank=wishes.node_rank or 0,
        collector=wishes.collector,
        shared=wishes.shared is not None,
        style=wishes.style,
    )


def read_timeouts(text: str) -> Timeouts:
    """Read the value of `--timeouts`.

    Raises:
        UsageError: it is neither `keep`, `judge` nor a duration.

    >>> read_timeouts("1h30m").limit_ms
    5400000
    """
    if text in (KEEP, JUDGE):
        return Timeouts(text)
    match = _DURATION.fullmatch(text)
    parts = [] if match is None else [float(part or 0) for part in match.groups()]
    limit_ms = round(sum(a * b for a, b in zip(parts, _SECONDS, strict=False)) * 1000)
    if limit_ms <= 0:
        raise UsageError(
            f"--timeouts {text!r} is no time limit; give `keep`, `judge`, or a duration such as"
            " 2h, 90m or 1h30m"
        )
    return Timeouts(FIXED, limit_ms)


def choose_folder(out: str | None, program: str) -> Path:
    """A run folder that no other run has: two runs never share one."""
    if out is None:
        stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        name = _NAME.sub("-", Path(program).name).strip("-") or "job"
        wanted = Path(_RUNS) / f"{stamp}-{name}"
    else:
        wanted = Path(out)
    number = 2
    folder = wanted
    while _is_taken(folder):
        folder = wanted / f"run-{number}"
        number += 1
    return folder.absolute()


def host_label() -> str:
    """The name of this host in the run, fit for file names."""
    name = os.environ.get("UNHANG_HOST") or socket.gethostname()
    return _NAME.sub("-", name) or "host"


def _read_on_hang(text: str) -> str:
    if text in (REPORT, ABORT) or text.removeprefix(COMMAND) not in ("", text):
        return text
    raise UsageError(
        f"--on-hang {text!r} is unknown; give `report`, `abort`, or `exec:` and a shell command"
    )


def _is_taken(folder: Path) -> bool:
    return (folder / "run.json").exists()
