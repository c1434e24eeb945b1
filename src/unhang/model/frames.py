"""One place in a program's stack."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of a Python traceback; `file` as printed."""

    file: str
    line: int | None
    function: str
