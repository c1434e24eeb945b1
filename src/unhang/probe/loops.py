"""The loops that a thread stands in, by their lines: a stack tells only one line of each function.

Read from the byte code, in which a loop is what lies between a jump back and where it goes.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import FrameType

_MOST_FRAMES = 60


def around(frame: FrameType | None) -> Iterator[str]:
    """One sentence for each loop of a stack, that of the innermost frame first."""
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return
        code = frame.f_code
        for first, last in _lines(frame):
            yield f"in the loop of lines {first}-{last} of {code.co_name}, file {code.co_filename}"
        frame = frame.f_back


def _lines(frame: FrameType) -> Iterator[tuple[int, int]]:
    """First and last line of each loop that a frame stands in."""
    ends: dict[int, int] = {}
    for step in dis.get_instructions(frame.f_code):
        jumps = step.opcode in dis.hasjrel or step.opcode in dis.hasjabs
        if jumps and isinstance(step.argval, int) and step.argval <= step.offset:
            ends[step.argval] = step.offset
    starts = [(at, line) for at, line in dis.findlinestarts(frame.f_code) if line]
    for begin in sorted(ends, reverse=True):
        if begin <= frame.f_lasti <= ends[begin]:
            first = [line for at, line in starts if at <= begin][-1:]
            lines = first + [line for at, line in starts if begin <= at <= ends[begin]]
            if lines:
                yield min(lines), max(lines)
