"""What NCCL's RAS (since 2.24) tells of communicators: by `ncclras`, else from its socket."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

from unhang.capturing.bounded import find_program
from unhang.capturing.source_context import SourceContext, absent, timed_out
from unhang.capturing.spec import About, Piece, Spec

_ADDRESS = ("localhost", 28028)
_VARIABLE = "NCCL_RAS_ADDR"
_PIECE = 1 << 16
_CONNECT_S = 2.0


def gather(context: SourceContext) -> Iterator[Piece]:
    """One text answer, with details."""
    host, port = address(context.job.variable(_VARIABLE))
    if find_program("ncclras") is not None:
        ran = context.run("ncclras", "-v", "-h", host, "-p", str(port))
        if ran.out.strip() and ran.code == 0:
            yield Piece(name="ras.txt", data=ran.out, cut=ran.cut)
            return
    yield from _by_socket(context, host, port)


def address(value: str | None) -> tuple[str, int]:
    """Where RAS listens.

    >>> address("localhost:12345"), address(None)
    (('localhost', 12345), ('localhost', 28028))
    """
    host, _, port = (value or "").rpartition(":")
    return (host or _ADDRESS[0], int(port)) if port.isdigit() else _ADDRESS


def _by_socket(context: SourceContext, host: str, port: int) -> Iterator[Piece]:
    try:
        connection = socket.create_connection((host, port), timeout=context.left_s(_CONNECT_S))
    except OSError as error:
        raise absent(
            "no_ras", address=f"{host}:{port}", error=error.strerror or str(error)
        ) from error
    text = bytearray()
    with connection:
        connection.sendall(b"verbose status\n")
        ended = _listen(connection, text, context)
    if text.strip():
        yield Piece(name="ras.txt", data=bytes(text), cut=not ended)
    if not ended:
        raise timed_out(time.monotonic() - context.begun)


def _listen(connection: socket.socket, text: bytearray, context: SourceContext) -> bool:
    """Whether the answer ended."""
    while len(text) < context.limit_bytes and context.left_s() > 0:
        connection.settimeout(context.left_s())
        try:
            piece = connection.recv(_PIECE)
        except OSError:
            return False
        if not piece:
            return True
        text.extend(piece)
    return False


SPEC = Spec(
    name="nccl-ras", about=About.HOST, gather=gather, limit_s=12.0, limit_bytes=4 << 20, order=1
)
