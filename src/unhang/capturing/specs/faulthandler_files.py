"""Stacks that `faulthandler` of a rank wrote to a file of its own, on request also by a signal.

A signal is sent only when the user named it, and only to a rank that catches it: any other would
die of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from unhang.capturing.processes import JobProcess
from unhang.capturing.reading import ReadRequest
from unhang.capturing.source_context import SourceContext, absent, refused, unreadable
from unhang.capturing.spec import About, Piece, Spec

_BEGINS = re.compile(rb"(?:Timeout \(\d|Fatal Python error|(?:Current t|T)hread 0x[0-9a-f]{1,16} )")
_MOST_FILES = 2_000
_MOST_LOOKED_AT = 200
_SNIFF = 200
_CAUGHT = re.compile(r"^SigCgt:\s*(?P<mask>[0-9a-f]+)", re.MULTILINE)
_WRITING_S = 0.7
_STANDARD = frozenset({"0", "1", "2"})


def gather(context: SourceContext) -> Iterator[Piece]:
    """Every file that the process has open and that begins as `faulthandler` writes."""
    process = context.process
    assert process is not None
    if context.job.signal is not None:
        _ask(context, process, context.job.signal)
    folder = f"/proc/{process.pid}/fd"
    listed = context.one(ReadRequest(folder, "links", _MOST_FILES))
    if listed.error is not None:
        raise unreadable(listed)
    targets = {target: fd for fd, target in listed.links.items() if _is_file(fd, target)}
    paths = [f"{folder}/{fd}" for fd in targets.values()][:_MOST_LOOKED_AT]
    sniffed = context.read(*(ReadRequest(path, "head", _SNIFF) for path in paths))
    found = [answer.request.path for answer in sniffed if _BEGINS.match(answer.data) is not None]
    wholes = context.read(*(ReadRequest(path, "tail", context.limit_bytes) for path in found))
    for number, whole in enumerate(wholes, 1):
        yield Piece(name=f"faulthandler-{number}.txt", data=whole.data, cut=whole.cut)
    if not found:
        raise absent("no_faulthandler")


def _is_file(fd: str, target: str) -> bool:
    if fd in _STANDARD:
        return False
    return target.startswith("/") and not target.startswith(("/dev/", "/proc/"))


def _ask(context: SourceContext, process: JobProcess, signal: int) -> None:
    status = context.one(ReadRequest(f"/proc/{process.pid}/status"))
    match = _CAUGHT.search(status.text)
    if match is None or not int(match["mask"], 16) >> (signal - 1) & 1:
        raise refused("signal_not_caught", signal=signal, pid=process.pid)
    try:
        os.kill(process.pid, signal)
    except OSError as error:
        raise refused("failed", program="kill", text=error.strerror or str(error)) from error
    context.pause(_WRITING_S)


SPEC = Spec(name="faulthandler", about=About.RANK, gather=gather, limit_s=5.0, order=0)
