"""From live stacks in logs (py-spy, faulthandler, watchdogs) to what a rank is doing.

Reads::

    Thread 4711 (active): "MainThread"
        make_llir (triton/backends/nvidia/compiler.py:417)              (py-spy)
    Thread 0x00007f1b2c (most recent call first):
      File "/…/torch/serialization.py", line 944 in save                (faulthandler)
      sampler/ops/flashinfer.py:349   in sample_from_logits_op          (condensed by people)
    No available shared memory broadcast block found in 60 seconds      (vLLM: the engine waits)

One event is said for each stack: its innermost frame that decides; `Process 4711: python3 …` above
it names the process. Traps: frames of a traceback
(`line 9, in f`, with a comma) tell where a rank died, not what it does; after `Fatal Python
error` the stack is a crash's; helper threads always wait, so only the main thread counts where it
is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from unhang import lazy_re as re
from unhang.model.events import Event, StackSeen
from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import Origin
from unhang.parsers.base import LineParser, needles, place
from unhang.parsers.vocabulary.phases import is_wait, phase_of_frame
from unhang.sources.line import Line

_HEADER = re.compile(
    r"\bThread \d{1,10} \((?:active|idle)[^)]{0,20}\)(?::\s*\"(?P<name>[^\"]{0,80})\")?"
    r"|\b(?:Current thread|Thread) 0x[0-9a-f]{1,16}(?: \[[^\]]{0,60}\])? \(most recent call first\)"
    r"|^Process (?P<pid>\d{1,10}): (?P<command>.{0,2000})|^Process [\w, ]{1,80}(?:\(|$)"
)
_RANK = re.compile(r"--rank[ =](\d{1,6})\b")
_LOCAL_RANK = re.compile(r"--local[-_]rank[ =](\d{1,4})\b")
_FRAMES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*(?P<function>[\w.<>]{1,99})\s\((?P<file>[^\s()]{1,300}\.py)(?::\d{1,7})?\)\s*$",
        r"^\s*File \"(?P<file>[^\"]{1,300}\.py)\", line \d{1,7} in (?P<function>\S{1,120})",
        r"^\s*(?P<file>[^\s:\"]{1,300}\.py)(?::\d{1,7})?\s{1,40}in (?P<function>[\w.<>]{1,99})\s*$",
    )
)
_FATAL = "Fatal Python error"
_NO_BLOCK = "No available shared m"
_KEPT_PARTS = 4
"""Trailing parts of a path that are kept: enough to tell the package."""


@dataclass(slots=True)
class _Stack:
    """The stack that one speaker is printing."""

    origin: Origin
    skipped: bool = False
    said: bool = False


class StackParser(
    LineParser, name="stacks_seen", needles=(*needles("stacks_seen"), _NO_BLOCK, _FATAL), after=40
):
    """Parser of live stacks."""

    def __init__(self) -> None:
        self._stacks: dict[Origin, _Stack] = {}
        self._crashed: set[Origin] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the deciding frame of a stack as soon as it comes."""
        if _NO_BLOCK in line.text:
            yield StackSeen(**place(line), frame="shm_broadcast.py:acquire", waiting=True)
            return
        if _FATAL in line.text:
            self._crashed.add(line.origin)
        stack = self._stacks.get(line.origin)
        header = _header(line.text)
        if header is not None or stack is None or not line.text.strip():
            name = None if header is None else header["name"]
            stack = _Stack(
                origin=_process(line, header) if stack is None else stack.origin,
                skipped=name is not None and name != "MainThread",
            )
            if header is not None and header["pid"] is not None:
                stack.origin = _process(line, header)
            self._stacks[line.origin] = stack
        if not stack.said and not stack.skipped and line.origin not in self._crashed:
            yield from _decide(line, stack)


def _header(text: str) -> re.Match[str] | None:
    """The head of a stack or of a process; most lines are neither."""
    may_be = "hread " in text or "Process " in text
    return _HEADER.search(text) if may_be else None


def _process(line: Line, header: re.Match[str] | None) -> Origin:
    """The process whose stack follows, as far as its header names it."""
    if header is None or header["pid"] is None:
        return line.origin
    rank, local = _RANK.search(header["command"]), _LOCAL_RANK.search(header["command"])
    return replace(
        line.origin,
        pid=int(header["pid"]),
        rank=line.origin.rank if rank is None else Rank(int(rank[1])),
        local_rank=line.origin.local_rank if local is None else LocalRank(int(local[1])),
    )


def _decide(line: Line, stack: _Stack) -> Iterator[Event]:
    """Say the frame on this line if it tells what the rank does."""
    frame = _frame(line.text)
    if frame is None:
        return
    phase, waiting = phase_of_frame(frame), is_wait(frame)
    if phase is not None or waiting:
        stack.said = True
        yield StackSeen(
            source=line.provenance(),
            origin=stack.origin,
            at=line.at,
            frame=frame,
            phase=phase,
            waiting=waiting and phase is None,
        )


def _frame(text: str) -> str | None:
    """`file:function` of a frame, or None."""
    for pattern in _FRAMES:
        match = pattern.search(text)
        if match is not None:
            parts = match["file"].rpartition("-packages/")[2].split("/")
            return "/".join(parts[-_KEPT_PARTS:]) + ":" + match["function"]
    return None
