"""The record of a run (`run.json`): what was run, when, how, and how it ended.

The disk may be full by then. So the room for the last record is taken at the beginning, in a file
beside it that becomes the record at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unhang import __version__
from unhang.live.messages.losses import Loss, gather
from unhang.live.messages.request import RunRequest
from unhang.live.run_folder.clock import RunClock
from unhang.live.run_folder.layout import RunFolder

SCHEMA = "unhang.run/1"

_ROOM_BYTES = 256 << 10


def begin(request: RunRequest, clock: RunClock) -> dict[str, Any]:
    """What is known when the run begins."""
    return {
        "schema": SCHEMA,
        "id": request.root.name,
        "command": list(request.command),
        "host": request.host,
        "pid": os.getpid(),
        "started": clock.stamp(),
        "timeouts": str(request.timeouts),
        "on_hang": request.on_hang,
        "unhang": __version__,
        "nodes": request.nodes or 1,
    }


def open_record(folder: RunFolder, record: Mapping[str, Any]) -> None:
    """Write the record as it is at the beginning, and take the room for the last one.

    Raises:
        OSError: it cannot be written.
    """
    write_json(folder.record, record)
    with contextlib.suppress(OSError):  # without it the last record needs room of its own
        handle = os.open(folder.last_record, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(handle, 0, _ROOM_BYTES)
        finally:
            os.close(handle)


def close_record(folder: RunFolder, record: Mapping[str, Any], lost: Iterable[Loss]) -> None:
    """Replace the record by the last one.

    Args:
        folder: the run folder.
        record: all but the losses.
        lost: what could not be seen or done; the same for several ranks is told once.

    Raises:
        OSError: it cannot be written; the one of the beginning stays.
    """
    whole = {**record, "lost": [loss.to_json() for loss in gather(lost)]}
    data = json.dumps(whole, ensure_ascii=False).encode("utf-8", "backslashreplace")
    try:
        with folder.last_record.open("r+b") as file:
            file.write(data)
            file.truncate()
        folder.last_record.replace(folder.record)
    except OSError:  # no room was to be had at the beginning, or somebody has removed it
        with contextlib.suppress(OSError):
            folder.last_record.unlink()
        write_json(folder.record, whole)


def write_json(path: Path, data: object) -> None:
    """Replace a file as a whole by this data: a reader sees the old one or the new one.

    Raises:
        OSError: it cannot be written; the old one stays.
    """
    replace(path, json.dumps(data, ensure_ascii=False))


def replace(path: Path, text: str) -> None:
    """The same for a text; bytes of names that are no UTF-8 are escaped.

    Raises:
        OSError: it cannot be written; the old one stays.
    """
    replace_bytes(path, text.encode("utf-8", "backslashreplace"))


def replace_bytes(path: Path, data: bytes) -> None:
    """The same for bytes; the file is its owner's only, and no link is written through.

    Raises:
        OSError: it cannot be written; the old one stays.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        with os.fdopen(os.open(fresh, flags, 0o600), "wb") as file:
            file.write(data)
        fresh.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
