"""What NVIDIA's Xid numbers mean for a job: which accuse the GPU and which the program."""

from __future__ import annotations

from unhang.model.events import KernelEvent, KernelProblem
from unhang.model.toml import load

_DATA = load("unhang.rules.device", "xids.toml")
HARDWARE: dict[int, str] = {int(xid): text for xid, text in _DATA["hardware"].items()}
"""The GPU, its memory, its firmware or its links failed."""

PROGRAM: dict[int, str] = {int(xid): text for xid, text in _DATA["program"].items()}
"""A kernel of the program did what it must not; rarely a failing GPU looks the same."""

LINKS = frozenset(_DATA["links"])
"""Errors of a link also appear when the process on its other side is killed."""


def number(event: KernelEvent) -> int | None:
    """The Xid that counts: behind a clean-up (45) the one that it names."""
    if event.problem is not KernelProblem.XID:
        return None
    return event.xid if event.previous_xid is None else event.previous_xid


def meaning(event: KernelEvent) -> str:
    """What a line of the kernel log reports, for a sentence."""
    code = number(event)
    if code is None:
        return f"{event.problem.value}: {event.detail}"[:160]
    known = HARDWARE.get(code) or PROGRAM.get(code)
    return f"Xid {code}" if known is None else f"Xid {code}, {known}"
