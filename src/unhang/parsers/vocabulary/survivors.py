"""From the frames of a traceback to whether whoever printed it lived on."""

from __future__ import annotations

from unhang.model.events import Frame
from unhang.parsers.vocabulary import python_text

_FINALIZERS = ("multiprocessing/util.py", "_run_finalizers")
"""Prints what a finalizer raised when a process ends, and goes on with the next one."""
_FEEDER = ("multiprocessing/queues.py", "_feed")
_RUN_BY_PYTHON = ("<stdin>", "<string>", "<frozen ", "<ipython-", "<cell", "<command-")
"""The program itself may be given so: `python -c`, `python < train.py`, a notebook's cell."""


def goes_on(frames: tuple[Frame, ...], message: str) -> bool:
    """Whether whoever prints an exception does not end by it.

    Args:
        frames: of its traceback, the outermost first.
        message: what it says, which counts where it has no frames.
    """
    if not frames:
        return python_text.GOES_ON.search(message) is not None
    return _begins_in(frames, _FINALIZERS) or all(map(_is_made_up, frames))


def feeder_thread(frames: tuple[Frame, ...]) -> str | None:
    """A queue's feeder thread prints its traceback and goes on; the worker lives."""
    return "QueueFeederThread" if _begins_in(frames, _FEEDER) else None


def _begins_in(frames: tuple[Frame, ...], place: tuple[str, str]) -> bool:
    """Whether the outermost frame is a function of a file."""
    file, function = place
    return bool(frames) and frames[0].file.endswith(file) and frames[0].function == function


def _is_made_up(frame: Frame) -> bool:
    """Whether its code stood in no file: somebody runs it and looks at what comes of it."""
    return frame.file.startswith("<") and not frame.file.startswith(_RUN_BY_PYTHON)
