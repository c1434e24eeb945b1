"""The kernel log since the job began: what is older is another job's trouble."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone

from unhang.capturing.bounded import Ran
from unhang.capturing.job_on_node import JobOnNode
from unhang.capturing.source_context import SourceContext, Stop, absent, failure, refused
from unhang.capturing.spec import About, Piece, Spec

_MARGIN_S = 60.0
_ISO = re.compile(rb"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[.,]\d{1,9}([+-]\d\d):?(\d\d) ")
_DENIED = ("not permitted", "permission", "no journal files were found")
_LIMIT_S = 4.0


def gather(context: SourceContext) -> Iterator[Piece]:
    """By dmesg, else by journalctl."""
    since = _since(context.job)
    missing: Stop | None = None
    for ask in (_dmesg, _journal):
        try:
            text = ask(context, since)
        except Stop as stop:
            missing = missing or stop
            continue
        if text.strip():
            yield Piece(name="kernel.log", data=text)
            return
        raise absent("nothing_since", seconds=round(datetime.now(timezone.utc).timestamp() - since))
    assert missing is not None
    raise missing


def _since(job: JobOnNode) -> float:
    """A little before the first process of the job began."""
    begun = [process.started_s for process in job.processes]
    return min(begun, default=datetime.now(timezone.utc).timestamp()) - _MARGIN_S


def _dmesg(context: SourceContext, since: float) -> bytes:
    ran = context.run("dmesg", "--time-format", "iso", "--nopager", limit_s=_LIMIT_S)
    if ran.code != 0 or ran.timed_out:
        raise _refusal("dmesg", ran, context)
    return later_than(since, ran.out)[-context.limit_bytes :]


def _journal(context: SourceContext, since: float) -> bytes:
    words = ("-k", "-q", "--no-pager", "-o", "short-iso-precise", f"--since=@{since:.0f}")
    ran = context.run("journalctl", *words, limit_s=_LIMIT_S)
    if ran.code != 0 or ran.timed_out:
        raise _refusal("journalctl", ran, context)
    return ran.out[-context.limit_bytes :]


def _refusal(name: str, ran: Ran, context: SourceContext) -> Stop:
    if any(mark in ran.err.lower() for mark in _DENIED):
        return refused("kernel_log", program=name)
    return failure(name, ran, context)


def later_than(since: float, text: bytes) -> bytes:
    r"""The lines from the first one that is not older; lines without a time follow their line.

    >>> later_than(0, b"2026-11-21T07:00:00,123456+00:00 mlx5_core: link down\n")
    b'2026-11-21T07:00:00,123456+00:00 mlx5_core: link down\n'
    """
    kept = []
    keep = False
    for line in text.splitlines(keepends=True):
        match = _ISO.match(line)
        if match is not None:
            told = b"%s%s:%s" % match.groups()
            keep = datetime.fromisoformat(told.decode()).timestamp() >= since
        if keep:
            kept.append(line)
    return b"".join(kept)


SPEC = Spec(
    name="kernel-log",
    about=About.HOST,
    gather=gather,
    limit_s=8.0,
    limit_bytes=4 << 20,
    order=3,
    lasting=True,
)
