"""Where the main thread is."""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType
from typing import NamedTuple

DEEPEST = 40
"""Frames that are looked at."""

_DEEPEST_TASK = 200
_MOST_THREADS = 8
_DEEPEST_HELPER = 12
_RAY_WORKER = os.path.join("ray", "_private", "worker.py")
_RAY_TASK = "actor_method_executor"

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = os.path.dirname(os.__file__) + os.sep
_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class MainThreadFrame(NamedTuple):
    """One frame."""

    file: str
    line: int
    function: str


def main_thread() -> list[MainThreadFrame]:
    """The stack of the main thread, innermost first; empty when it has ended.

    Ray's main thread only serves: methods of an actor that has coroutines run in a thread beside
    it, which counts in its place.
    """
    frames = sys._current_frames()
    # A frame that is held keeps its variables alive: none outlives this function.
    try:
        main = frames.get(threading.main_thread().ident or 0)
        if main is not None and _serves(main):
            main = next((frame for frame in frames.values() if _runs_task(frame)), main)
        return _places(main)
    finally:
        main = None
        frames.clear()


def other_threads() -> list[list[MainThreadFrame]]:
    """The inner ends of the stacks of some of the program's further threads, innermost first."""
    frames = sys._current_frames()
    try:
        frames.pop(threading.main_thread().ident or 0, None)
        theirs = [frame for frame in frames.values() if not _ours(frame)]
        return [_places(frame, _DEEPEST_HELPER) for frame in theirs[:_MOST_THREADS]]
    finally:
        theirs = []
        frames.clear()


def _ours(frame: FrameType) -> bool:
    """Whether a thread is the probe's: it was begun there, and may be in the library now."""
    outer: FrameType | None = frame
    while outer is not None and not outer.f_code.co_filename.startswith(_OURS):
        outer = outer.f_back
    return outer is not None


def _places(frame: FrameType | None, deepest: int = DEEPEST) -> list[MainThreadFrame]:
    places: list[MainThreadFrame] = []
    while frame is not None and len(places) < deepest:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS):
            places.append(MainThreadFrame(code.co_filename, frame.f_lineno or 0, code.co_name))
        frame = frame.f_back
    return places


def _serves(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_name == "main_loop" and code.co_filename.endswith(_RAY_WORKER)


def _runs_task(frame: FrameType) -> bool:
    outer: FrameType | None = frame
    for _ in range(_DEEPEST_TASK):
        if outer is None:
            return False
        if outer.f_code.co_name == _RAY_TASK:
            return True
        outer = outer.f_back
    return False


def own_place(stack: list[MainThreadFrame]) -> MainThreadFrame | None:
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
