"""The record of a run (`run.json`): what was run, when, how, and how it ended."""

from __future__ import annotations

import contextlib
import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from unhang import __version__
from unhang.live.messages.request import RunRequest

SCHEMA = "unhang.run/1"


def begin(request: RunRequest) -> dict[str, Any]:
    """What is known when the run begins."""
    return {
        "schema": SCHEMA,
        "id": request.root.name,
        "command": list(request.command),
        "host": request.host,
        "pid": os.getpid(),
        "started": now(),
        "timeouts": str(request.timeouts),
        "on_hang": request.on_hang,
        "unhang": __version__,
        "nodes": request.nodes or 1,
    }


def now() -> str:
    """The time, as all records of a run write it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def write_json(path: Path, data: object) -> None:
    """Replace a file as a whole by this data: a reader sees the old one or the new one.

    Raises:
        OSError: it cannot be written; the old one stays.
    """
    replace(path, json.dumps(data, ensure_ascii=False))


def replace(path: Path, text: str) -> None:
    """The same for a text.

    Raises:
        OSError: it cannot be written; the old one stays.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
