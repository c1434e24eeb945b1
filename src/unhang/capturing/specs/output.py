"""The end of the logs that each process writes to, found by its open standard output and error.

A file that several processes share is taken once, as the first one's that has it.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.capturing.processes import JobProcess
from unhang.capturing.reading import ReadAnswer, ReadRequest
from unhang.capturing.source_context import SourceContext, absent, unreadable
from unhang.capturing.spec import About, Piece, Spec

_STREAMS = {"1": "stdout.log", "2": "stderr.log"}
_HEAD_BYTES = 256 << 10


def gather(context: SourceContext) -> Iterator[Piece]:
    """The beginning, where versions and settings stand, and the end of each log."""
    process = context.process
    assert process is not None
    if context.job.run_folder is not None:
        raise absent("in_run_folder")
    own, others = _links(context, process)
    taken: set[str] = set()
    for stream, name in _STREAMS.items():
        target = own.get(stream, "")
        if not target.startswith("/") or target.startswith(("/dev/", "/proc/")):
            continue
        if target not in taken | others:
            taken.add(target)
            yield from _ends(context, f"/proc/{process.pid}/fd/{stream}", name)
    if not taken:
        raise absent("no_log_file", target=own.get("1", "closed"))


def _links(context: SourceContext, process: JobProcess) -> tuple[dict[str, str], set[str]]:
    """What the process has open first, and what those have that are asked before it."""
    pids = [p.pid for p in (*context.job.launchers, *context.job.ranks)]
    before = pids[: pids.index(process.pid)]
    asked = (ReadRequest(f"/proc/{pid}/fd", "links", 3) for pid in (process.pid, *before))
    own, *others = context.read(*asked)
    if own.error is not None:
        raise unreadable(own)
    return own.links, {target for other in others for target in other.links.values()}


def _ends(context: SourceContext, path: str, name: str) -> Iterator[Piece]:
    answer = context.one(ReadRequest(path, "tail", context.limit_bytes))
    if answer.error is not None:
        raise unreadable(answer)
    if not answer.cut:
        if answer.data:
            yield Piece(name=name, data=answer.data)
        return
    head = context.one(ReadRequest(path, "head", _HEAD_BYTES))
    yield Piece(name=name, data=joined(head, answer), cut=True)


def joined(head: ReadAnswer, tail: ReadAnswer) -> bytes:
    """The beginning and the end of a text, whole lines, with a mark where the rest is missing."""
    first = head.data[: head.data.rfind(b"\n") + 1]
    last = tail.data[tail.data.find(b"\n") + 1 :]
    left = tail.size_bytes - len(first) - len(last)
    return first + f"[unhang capture left out {left} bytes here]\n".encode() + last


SPEC = Spec(
    name="output", about=About.PROCESS, gather=gather, limit_s=6.0, limit_bytes=4 << 20, order=4
)
