"""From a line of text to the messages that NCCL printed in it, with host, pid and device.

Reads::

    node1:4711:4790 [2] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC
    node1:4711:4790 [2] create_nccl_ofi_component:459 NCCL WARN text
    [2026-02-21 01:31:45] node1:4711:4790 [2] misc/socket.cc:71 (socketProgress) NCCL WARN text
    include/socket.h:344 WARN text
    pynccl: NCCL WARN text

Several processes write to one stream without a lock, so a line may hold several messages, and a
message may begin in the middle of another. Host, place in the source and device may be lost. The
field in brackets is the device as the process counts it, after CUDA_VISIBLE_DEVICES.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from unhang import lazy_re as re
from unhang.model.provenance import Origin
from unhang.parsers.vocabulary.numbers import whole

_MARK = re.compile(r"NCCL\s*(?P<level>WARN|INFO|TRACE|ABORT|CALL|ERROR)\b[ \t]?")
_OLD_MARK = re.compile(r"(?<=\d)\s(?P<level>WARN)\s")
_HEAD = re.compile(
    r"(?:(?P<host>[A-Za-z0-9_][\w.\-]{0,128}):(?P<pid>\d{1,10}):(?P<tid>\d{1,10})\s*)?"
    r"(?:\[(?P<device>-?\d{1,12})\]\s*)?"
    r"(?:(?P<file>[\w./+\-]{1,128}\.(?:cc|cu|cpp|h|c|hpp)(?::\d{1,6})?|[a-z_]\w{2,64}:\d{1,6})\s*"
    r"(?:\(\w{1,64}\)\s*)?)?$"
)
_HEAD_LIMIT = 320
_MOST_DEVICES = 1_024


@dataclass(frozen=True, slots=True)
class NcclText:
    """One message of NCCL.

    Attributes:
        level: `WARN`, `INFO`, `TRACE` …
        body: the text after the level, up to the next message on the line.
        file: source file of a warning, where printed.
        device: CUDA device index as the process sees it.
        start: where its header begins in the line.
    """

    level: str
    body: str
    host: str | None = None
    pid: int | None = None
    thread: int | None = None
    device: int | None = None
    file: str | None = None
    start: int = 0

    def origin(self, known: Origin) -> Origin:
        """`known`, with the host and the pid that NCCL itself prints.

        A collector's prefix names a pod or itself; NCCL names the machine that the GPU is in.
        """
        return _named(known, self.host, self.pid)


@lru_cache(maxsize=8_192)
def _named(known: Origin, host: str | None, pid: int | None) -> Origin:
    """Few processes print most of the lines."""
    return replace(
        known,
        host=known.host if host is None else host,
        pid=known.pid if pid is None else pid,
    )


def messages(text: str) -> Iterator[NcclText]:
    """Yield the messages of NCCL in a line, in order."""
    marks = list(_MARK.finditer(text)) or list(_OLD_MARK.finditer(text))
    if not marks:
        return
    begins = [0, *(mark.end() for mark in marks)]
    heads = [_head(text, begin, mark.start()) for begin, mark in zip(begins, marks, strict=False)]
    starts = [m.start() if h is None else h.start() for m, h in zip(marks, heads, strict=True)]
    for mark, head, end in zip(marks, heads, [*starts[1:], len(text)], strict=True):
        body = text[mark.end() : max(end, mark.end())].strip()
        yield _message(text, mark, head, body)


def _head(text: str, begin: int, end: int) -> re.Match[str] | None:
    """Find the header between `begin` and `end`; searching is limited to a short window."""
    return _HEAD.fullmatch(text, begin, end) or _HEAD.search(
        text, max(begin, end - _HEAD_LIMIT), end
    )


def _message(text: str, mark: re.Match[str], match: re.Match[str] | None, body: str) -> NcclText:
    if match is None:
        return NcclText(level=mark["level"], body=body, start=mark.start())
    start = match.start()
    glued = start > 0 and (text[start - 1].isalnum() or text[start - 1] in "-._")
    return NcclText(
        level=mark["level"],
        body=body,
        host=None if glued else match["host"],
        pid=whole(match["pid"]),
        thread=whole(match["tid"]),
        device=_device(match["device"]),
        file=match["file"],
        start=start,
    )


def _device(text: str | None) -> int | None:
    """A device index; threads that have none print uninitialised memory."""
    number = whole(text)
    return number if number is None or 0 <= number < _MOST_DEVICES else None
