"""Reads what the agent of this host asks, and whether it lives."""

from __future__ import annotations

import json
import os
from typing import Any

_MODES = ("keep", "judge", "fixed")


class Watched:
    """A JSON file that others replace; it is read when it was replaced.

    Args:
        path: it need not exist.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._mark: tuple[int, int] | None = None
        self._content: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """The last whole content; empty before there is any."""
        try:
            entry = os.stat(self._path)
            mark = (entry.st_ino, entry.st_mtime_ns)
            if mark != self._mark:
                with open(self._path, "rb") as file:
                    content = json.loads(file.read())
                if isinstance(content, dict):
                    self._content = content
                self._mark = mark
        except (OSError, ValueError):
            pass  # not there yet, or half of it: the next beat looks again
        return self._content


class OrderReader:
    """Dumps that were asked for after this process began.

    Args:
        path: the file of orders of this host.
    """

    def __init__(self, path: str) -> None:
        self._file = Watched(path)
        # An order older than this process was for the one that it replaces.
        self._served = _number(self._dump().get("id"), -1)

    def new_dump(self) -> tuple[int, str] | None:
        """Number and folder of a dump to make now."""
        wanted = self._dump()
        number, folder = _number(wanted.get("id"), -1), wanted.get("dir")
        if number <= self._served or not isinstance(folder, str):
            return None
        self._served = number
        return number, folder

    def timeouts(self) -> tuple[str, int | None] | None:
        """Mode and limit in milliseconds that the agent orders, or None."""
        wanted = self._file.read().get("timeouts")
        if not isinstance(wanted, dict) or wanted.get("mode") not in _MODES:
            return None
        limit_ms = _number(wanted.get("limit_ms"), 0)
        return wanted["mode"], limit_ms if limit_ms > 0 else None

    def _dump(self) -> dict[str, Any]:
        wanted = self._file.read().get("dump")
        return wanted if isinstance(wanted, dict) else {}


def _number(value: Any, default: int) -> int:
    return value if isinstance(value, int) else default
