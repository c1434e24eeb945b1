"""Which method the main thread is calling where Python's stack ends.

`work.wait()` and `store.wait()` are native methods without a frame of their own: the stack ends at
a line of the program like any other. The instruction that is under way tells the method's name.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Start = tuple[int | None, int | None]

_UNIT = 2
"""Bytes of an instruction."""
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_MARKED_METHODS = (3, 12)
"""From here on the lowest bit of LOAD_ATTR tells a method."""


class Calling:
    """Looks at each beat, and tells only where the thread stands as it did at the one before."""

    def __init__(self) -> None:
        self._code: CodeType | None = None
        self._at = -1
        self._known = False
        self._name: str | None = None

    @property
    def stands(self) -> bool:
        """The thread stood at the last look as at the one before."""
        return self._known

    def see(self) -> str | None:
        """Name of the method, or None: the thread moves, or Python before 3.11 does not tell."""
        frames = sys._current_frames()
        # A frame that is held keeps its variables alive: none outlives this function.
        try:
            return self._look(frames.get(threading.main_thread().ident or 0))
        finally:
            frames.clear()

    def _look(self, frame: FrameType | None) -> str | None:
        code, at = (None, -1) if frame is None else (frame.f_code, frame.f_lasti)
        if code is not self._code or at != self._at:
            self._code, self._at, self._known, self._name = code, at, False, None
        elif code is not None and not self._known:
            self._known, self._name = True, _method(code, at)
        return self._name


def _method(code: CodeType, at: int) -> str | None:
    """The attribute that is looked up where the call at this instruction begins."""
    positions = getattr(code, "co_positions", None)
    if positions is None:
        return None
    from opcode import opname

    starts: list[Start] = [(line, column) for line, _, column, _ in positions()]
    here = at // _UNIT
    if not opname[code.co_code[at]].startswith("CALL") or starts[here][1] is None:
        return None
    for unit in range(here - 1, -1, -1):
        operation = opname[code.co_code[unit * _UNIT]]
        if starts[unit] == starts[here] and operation in _ATTRIBUTES:
            return code.co_names[_argument(code.co_code, unit, operation)]
    return None


def _argument(code: bytes, unit: int, operation: str) -> int:
    from opcode import opname

    value, shift = code[unit * _UNIT + 1], 8
    while unit > 0 and opname[code[(unit - 1) * _UNIT]] == "EXTENDED_ARG":
        unit -= 1
        value |= code[unit * _UNIT + 1] << shift
        shift += 8
    marked = operation == "LOAD_ATTR" and sys.version_info >= _MARKED_METHODS
    return value >> 1 if marked else value
