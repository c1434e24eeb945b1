"""In which collective the main thread stands, and with which arguments.

Python's stack tells that a rank waits in `recv`, and not from whom; the arguments of that frame do.
Ranks that name different sources in one broadcast wait for each other for ever, under equal names.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from . import groups

if TYPE_CHECKING:
    from types import FrameType

_C10D = os.path.join("torch", "distributed", "distributed_c10d.py")
_LOGGER = os.path.join("torch", "distributed", "c10d_logger.py")
_DEEPEST = 8
"""Frames that are looked at: collectives of torch call each other."""


def of_call() -> dict[str, Any] | None:
    """The outermost function of torch's collectives at the end of the stack; None = in none."""
    frames = sys._current_frames()
    # A frame that is held keeps its variables alive: none outlives this function.
    try:
        frame = frames.get(threading.main_thread().ident or 0)
        found: FrameType | None = None
        for _ in range(_DEEPEST):
            file = "" if frame is None else frame.f_code.co_filename
            if frame is not None and file.endswith(_C10D):
                found = frame
            elif found is not None and not file.endswith(_LOGGER):
                break
            frame = None if frame is None else frame.f_back
        return None if found is None else _told(found.f_code.co_name, found.f_locals)
    finally:
        frame = found = None
        frames.clear()


def _told(op: str, values: dict[str, Any]) -> dict[str, Any]:
    group = values.get("group")
    return {
        "op": op,
        "src": _rank(values, "src", group),
        "dst": _rank(values, "dst", group),
        "tag": tag if isinstance(tag := values.get("tag"), int) else None,
        "group": _name(group),
    }


def _rank(values: dict[str, Any], side: str, group: Any) -> int | None:
    """A global rank, which newer functions take as one of the group instead."""
    told = values.get(side)
    if isinstance(told, int):
        return told
    within = values.get(f"group_{side}")
    if not isinstance(within, int):
        return None
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    if group is None:
        return within
    members = None if c10d is None else groups.describe(c10d, group)["ranks"]
    if members is None:
        return None
    return int(members[within]) if within < len(members) else None


def _name(group: Any) -> str | None:
    name = getattr(group, "group_name", None)
    return name if isinstance(name, str) else None
