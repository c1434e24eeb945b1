"""Interfaces and TCP of the job's network, read twice: bytes, drops, retransmissions, queues."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.capturing.source_context import SourceContext, absent, sections
from unhang.capturing.spec import About, Piece, Spec

_FILES = ("net/dev", "net/snmp", "net/netstat")
_SOCKETS = ("net/tcp", "net/tcp6")
_BETWEEN_S = 1.0


def gather(context: SourceContext) -> Iterator[Piece]:
    """As the first rank's network namespace sees them."""
    process = next(iter((*context.job.ranks, *context.job.launchers)), None)
    if process is None:
        raise absent("no_process")
    folder = f"/proc/{process.pid}"
    first, missing = sections(context.heads([f"{folder}/{name}" for name in (*_FILES, *_SOCKETS)]))
    if first:
        yield Piece(name="network_1.txt", data=first)
    context.pause(_BETWEEN_S)
    second, _ = sections(context.heads([f"{folder}/{name}" for name in (*_FILES, *_SOCKETS)]))
    if second:
        yield Piece(name="network_2.txt", data=second)
    if missing is not None:
        raise missing


SPEC = Spec(name="network", about=About.HOST, gather=gather, limit_s=8.0, order=4)
