"""From `data/stack_frames.json` to what a frame of a stack shows: a wait, a phase, the step.

Functions of libraries are known by file and name. Names of the program's own functions
(`save_checkpoint`) tell less, and are asked only where no library's frame does.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from unhang import lazy_re as re
from unhang.model.phases import Phase


class FrameKind(enum.Enum):
    """What the code of a frame is for."""

    WAIT = "wait"
    """Waits for other ranks."""
    STEP = "step"
    """The model: forward, backward, optimizer."""
    DEVICE = "device"
    LOCK = "lock"
    PHASE = "phase"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameMeaning:
    """What one kind of frame shows.

    Attributes:
        kind: what the code is for.
        phase: of `FrameKind.PHASE`.
        framework: whose code it is, or None.
    """

    kind: FrameKind
    phase: Phase | None = None
    framework: str | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    file: re.Pattern[str]
    function: re.Pattern[str] | None
    meaning: FrameMeaning


@cache
def frame_meaning(file: str, function: str) -> FrameMeaning | None:
    """What a library's frame shows, or None; a module that is being imported shows nothing.

    Args:
        file: its path; what stands before the package does not count.
        function: its name; classes and `<locals>` in front of it do not count.

    >>> frame_meaning("/env/lib/python3.11/site-packages/torch/serialization.py", "save").phase
    <Phase.SAVE: 'save'>
    """
    if function == "<module>":
        return None
    return _find(_entries()[0], packaged(file), bare(function))


@cache
def named_meaning(function: str) -> FrameMeaning | None:
    """What a function of the program seems to do, judged by its name, or None.

    >>> named_meaning("build_dataset").phase
    <Phase.DATA: 'data'>
    """
    return _find(_entries()[1], "", bare(function))


def packaged(file: str) -> str:
    """The part of a path that begins with the package.

    >>> packaged("/env/lib/python3.11/site-packages/torch/serialization.py")
    'torch/serialization.py'
    """
    for mark in ("-packages/", "/lib/python3"):
        _, found, rest = file.rpartition(mark)
        if found:
            return rest if mark.startswith("-") else rest.partition("/")[2]
    return file


def bare(function: str) -> str:
    """A function's name without what it is defined in.

    >>> bare("Trainer.save.<locals>.wrapper")
    'wrapper'
    """
    return function.rpartition(".")[2]


def _find(entries: tuple[_Entry, ...], file: str, function: str) -> FrameMeaning | None:
    for entry in entries:
        fits = entry.function is None or entry.function.fullmatch(function) is not None
        if fits and entry.file.search(file) is not None:
            return entry.meaning
    return None


@cache
def _entries() -> tuple[tuple[_Entry, ...], tuple[_Entry, ...]]:
    """Entries of libraries, and those of names."""
    text = (files("unhang.settings") / "data" / "stack_frames.json").read_text(encoding="utf-8")
    rows = json.loads(text)["frames"]
    known = tuple(_entry(row) for row in rows if row["file"])
    return known, tuple(_entry(row) for row in rows if not row["file"])


def _entry(row: dict[str, str]) -> _Entry:
    does, function = row["does"], row.get("function")
    kinds = {kind.value for kind in FrameKind}
    kind = FrameKind(does) if does in kinds else FrameKind.PHASE
    return _Entry(
        re.compile(r"(?:^|/)(?:" + row["file"] + ")"),
        re.compile(function) if function else None,
        FrameMeaning(
            kind=kind,
            phase=Phase(does) if kind is FrameKind.PHASE else None,
            framework=row.get("framework"),
        ),
    )
