"""Flight Recorder dumps that torch itself wrote for a rank, or writes when asked by its own pipe.

The pipe is there only where the user asked for it (TORCH_NCCL_DEBUG_INFO_PIPE_FILE); a byte in it
makes the rank dump, and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from unhang.capturing.processes import JobProcess
from unhang.capturing.reading import ReadAnswer, ReadRequest
from unhang.capturing.source_context import SourceContext, Stop, absent, unreadable
from unhang.capturing.spec import About, Piece, PieceFormat, Spec

_PREFIXES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_OLD_DEFAULT = "/tmp/nccl_trace_rank_"  # noqa: S108 (where torch before 2.9 writes)
_DEFAULT = "torch/comm_lib_trace_rank_"
_PIPE = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"
_DUMP_BYTES = 64 << 20
_PATIENCE_S = 5.0
_LOOK_S = 0.25


def gather(context: SourceContext) -> Iterator[Piece]:
    """The dump of this start of the process; one of an earlier start tells of another hang."""
    process = context.process
    assert process is not None
    if process.rank is None:
        raise absent("no_rank")
    root = f"/proc/{process.pid}/root"
    paths = [f"{root}{prefix}{process.rank}" for prefix in _prefixes(process)]
    if _ask(process):
        _await_newer(context, paths[0])
    answers = list(context.read(*(ReadRequest(path, limit=_DUMP_BYTES) for path in paths)))
    fresh = [a for a in answers if a.data and a.modified_s >= process.started_s]
    if not fresh:
        raise _missing(answers)
    newest = max(fresh, key=lambda answer: answer.modified_s)
    form = PieceFormat.PICKLE if newest.data.startswith(b"\x80") else PieceFormat.TEXT
    yield Piece(name=f"trace_{process.rank}", data=newest.data, form=form, cut=newest.cut)


def _missing(answers: Sequence[ReadAnswer]) -> Stop:
    """Why there is no dump of this start."""
    for answer in answers:
        if answer.data:
            return absent("older", path=answer.request.path)
        if not answer.gone and answer.error is not None:
            return unreadable(answer)
    return absent("no_dump")


def _prefixes(process: JobProcess) -> list[str]:
    """Where this rank's torch writes: as it was told, else its default, which moved in 2.9."""
    told = [prefix for name in _PREFIXES if (prefix := process.variable(name))]
    if told:
        return told[:1]
    home = process.variable("HOME") or "/root"
    cache = process.variable("XDG_CACHE_HOME") or f"{home}/.cache"
    return [f"{cache}/{_DEFAULT}", _OLD_DEFAULT]


def _ask(process: JobProcess) -> bool:
    """Whether there is a pipe and somebody who listens to it."""
    prefix = process.variable(_PIPE)
    if not prefix:
        return False
    try:
        handle = os.open(f"{prefix}{process.rank}.pipe", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(handle, b"1") == 1
    except OSError:
        return False
    finally:
        os.close(handle)


def _await_newer(context: SourceContext, path: str) -> None:
    """Wait until the dump has been written anew and stands still."""
    first = last = _state(context, path)
    for _ in range(round(_PATIENCE_S / _LOOK_S)):
        context.pause(_LOOK_S)
        now = _state(context, path)
        if now == last != first:
            return
        last = now


def _state(context: SourceContext, path: str) -> tuple[float, int]:
    answer = context.one(ReadRequest(path, limit=0))
    return answer.modified_s, answer.size_bytes


SPEC = Spec(
    name="flight-recorder",
    about=About.RANK,
    gather=gather,
    limit_s=10.0,
    limit_bytes=_DUMP_BYTES,
    order=1,
)
