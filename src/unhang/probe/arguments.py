"""In which collective the main thread stands, and with which arguments.

Python's stack tells that a rank waits in `recv`, and not from whom; the arguments of that frame do.
Ranks that name different sources in one broadcast wait for each other for ever, under equal names;
so do those that make groups of different names.
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
        inner: dict[str, Any] = {}
        for _ in range(_DEEPEST):
            file = "" if frame is None else frame.f_code.co_filename
            if frame is not None and file.endswith(_C10D):
                inner = frame.f_locals if found is None else inner
                found = frame
            elif found is not None and not file.endswith(_LOGGER):
                break
            frame = None if frame is None else frame.f_back
        return None if found is None else _told(found.f_code.co_name, found.f_locals, inner)
    finally:
        frame = found = inner = None  # type: ignore[assignment]
        frames.clear()


def _told(op: str, values: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    group = values.get("group")
    return {
        "op": op,
        "src": _rank(values, "src", group),
        "dst": _rank(values, "dst", group),
        "tag": tag if isinstance(tag := values.get("tag"), int) else None,
        "group": _name(group) or _text(inner.get("group_name")),
        "ranks": _numbers(inner.get("global_ranks_in_group")),
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
    return _text(getattr(group, "group_name", None))


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str) else None


def _numbers(value: Any) -> list[int] | None:
    """The ranks of a group that is being made; an empty list means all, at the start of the job."""
    known = isinstance(value, (list, tuple)) and all(isinstance(rank, int) for rank in value)
    return list(value) or None if known else None
