"""Where the main thread is."""

from __future__ import annotations

import os
import sys
import threading
from typing import NamedTuple

DEEPEST = 40
"""Frames that are looked at."""

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = os.path.dirname(os.__file__) + os.sep
_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Place(NamedTuple):
    """One frame."""

    file: str
    line: int
    function: str


def main_thread() -> list[Place]:
    """The stack of the main thread, innermost first; empty when it has ended."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    places: list[Place] = []
    # A frame that is held keeps its variables alive: none outlives this loop.
    while frame is not None and len(places) < DEEPEST:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS):
            places.append(Place(code.co_filename, frame.f_lineno or 0, code.co_name))
        frame = frame.f_back
    del frame
    return places


def own_place(stack: list[Place]) -> Place | None:
    """The innermost frame of the program itself, else of a library, else of anything."""
    for place in stack:
        if _is_of_program(place.file):
            return place
    for place in stack:
        if not place.file.startswith((_STDLIB, "<")) and f"{os.sep}torch{os.sep}" not in place.file:
            return place
    return stack[0] if stack else None


def _is_of_program(file: str) -> bool:
    return not (file.startswith((_STDLIB, "<")) or any(part in file for part in _LIBRARIES))
