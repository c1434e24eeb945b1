"""From the name, text and frames of a Python exception to what it means for the job.

The order of the tests is the judgement: a text that names the deciding fact (out of memory, a
CUDA error, a mismatch between ranks) outranks the class it came in, because every layer wraps
errors in classes of its own. What is left over is the program's own failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from unhang import lazy_re as re
from unhang.model.events import ExceptionKind, Frame
from unhang.model.forms import named
from unhang.model.toml import load

_FLAGS = re.IGNORECASE

_DATA = load("unhang.parsers.vocabulary", "data/exceptions.toml")

_BY_NAME = {name: ExceptionKind(kind) for kind, names in _DATA["classes"].items() for name in names}
"""What a class name means when the text does not say more."""

_BY_TEXT: tuple[tuple[ExceptionKind, re.Pattern[str]], ...] = tuple(
    (
        ExceptionKind(row["kind"]),
        re.compile("|".join(row["texts"]), 0 if row.get("exact_case") else _FLAGS),
    )
    for row in _DATA["texts"]
)
"""Texts that decide whatever class carries them, in this order."""

_PATTERNS = named("unhang.parsers.vocabulary", "data/exceptions_patterns.toml")
_SAID_BY_TORCH = _PATTERNS["said_by_torch"]
"""Wordings of a rendezvous that no other program uses."""

_PLUMBING = _PATTERNS["plumbing"]
"""Channels between a process and its helpers: they break when the other side is gone."""

_SHARED = _PATTERNS["shared"]
_BROKEN_CHANNEL = frozenset(
    {"EOFError", "ConnectionRefusedError", "FileNotFoundError", "OSError", "UnpicklingError"}
)

_WAITS = re.compile(r"torch/distributed/|torch/nn/parallel/distributed\.py|deepspeed/comm/\w+\.py")
_SYNCHRONISED = re.compile(r"\bsynchroni[sz]", re.IGNORECASE)
"""A device that was waited for inside a collective; what kept it is elsewhere."""
_COLLECTIVES = _PATTERNS["collectives"]
_INNERMOST = 3
_MAY_WAIT = re.compile(r"site-packages/(?:torch|deepspeed|accelerate|megatron|lightning\w*)/")
"""Libraries that communicate: a traceback that is cut inside them may end in a wait."""

_MEETING = _PATTERNS["meeting"]
_ELASTIC = re.compile(r"torch/distributed/elastic/rendezvous/")
"""No code of the program runs below it, whatever class its store raises."""
_RESOLVER = re.compile(r"(?:^|/)socket\.py$")
_REFUSALS = frozenset(
    {
        "ConnectionRefusedError",
        "ConnectionError",
        "OSError",
        "RuntimeError",
        "ValueError",
        "TimeoutError",
        "gaierror",
    }
)
"""Classes of what sockets and stores refuse; what they say there is about meeting the others."""

_LAUNCHER = _PATTERNS["launcher"]
_GONE = _PATTERNS["gone"]
"""Class names that say of another process that it is gone."""


def classify_exception(exception: str, message: str, frames: Sequence[Frame]) -> ExceptionKind:
    """Say what an exception means for the job.

    Args:
        exception: class name without modules; "" where the last line is lost.
        message: its text.
        frames: outermost first.
    """
    kind = _by_text(message)
    if kind is not None:
        own = _BY_NAME.get(exception) is kind  # torch's class, wherever it was raised
        return kind if own else _by_place(kind, message, frames)
    if exception == "Exception" and frames and _LAUNCHER.search(frames[-1].file):
        return ExceptionKind.CHILD
    if exception in _REFUSALS and _makes_group(frames):
        return ExceptionKind.RENDEZVOUS
    if exception in _BY_NAME:
        return _BY_NAME[exception]
    if _GONE.search(exception):
        return ExceptionKind.CHILD
    if exception and any(_ELASTIC.search(frame.file) for frame in frames):
        return ExceptionKind.RENDEZVOUS
    if exception in _BROKEN_CHANNEL and frames and _PLUMBING.search(frames[-1].file):
        return ExceptionKind.COLLECTIVE
    if exception == "EOFError" and not message:
        return ExceptionKind.COLLECTIVE  # the other end of a pipe is gone; of a file it says more
    if exception == "":
        return _from_frames(frames)
    if frames and _WAITS.search(frames[-1].file) and _SYNCHRONISED.search(message):
        return ExceptionKind.COLLECTIVE
    return ExceptionKind.USER


@lru_cache(maxsize=1_024)
def _by_text(message: str) -> ExceptionKind | None:
    """All ranks may raise the same."""
    return next((kind for kind, pattern in _BY_TEXT if pattern.search(message)), None)


def _makes_group(frames: Sequence[Frame]) -> bool:
    """Whether it was raised where the processes of a job find each other."""
    inner = frames[-_INNERMOST:]
    return any(_MEETING.search(f"{f.file}:{f.function}") is not None for f in inner) or (
        bool(frames)
        and _RESOLVER.search(frames[-1].file) is not None
        and any(f.function == "init_process_group" for f in frames)
    )


def _by_place(kind: ExceptionKind, message: str, frames: Sequence[Frame]) -> ExceptionKind:
    """What a text means, corrected by where it was raised.

    `Address already in use` is a rendezvous only where the rendezvous raised it: a web server of
    the program (a metrics port, a dashboard) must not pass for the store; words that only torch
    says need no such proof. The file system that is full below a semaphore or a shared queue is
    `/dev/shm`. Without frames the text is all there is.
    """
    if kind is ExceptionKind.DISK_FULL and frames and _SHARED.search(frames[-1].file):
        return ExceptionKind.SHARED_MEMORY
    if kind is not ExceptionKind.RENDEZVOUS or not frames or _SAID_BY_TORCH.search(message):
        return kind
    inner = frames[-4:]
    if any("/torch/" in f.file or "torch\\" in f.file for f in inner):
        return kind
    return (
        kind
        if any(_WAITS.search(f.file) or "deepspeed" in f.file for f in frames)
        else (ExceptionKind.USER)
    )


def _from_frames(frames: Sequence[Frame]) -> ExceptionKind:
    """The last line is lost: where the code stood tells a wait from a failure of its own."""
    if not frames:
        return ExceptionKind.USER
    if _LAUNCHER.search(frames[-1].file):
        return ExceptionKind.CHILD
    if _MAY_WAIT.search(frames[-1].file) or any(map(_communicates, frames[-_INNERMOST:])):
        return ExceptionKind.COLLECTIVE
    return ExceptionKind.USER


def _communicates(frame: Frame) -> bool:
    """Whether the code of a frame waits for other ranks."""
    return _WAITS.search(frame.file) is not None or _COLLECTIVES.match(frame.function) is not None
