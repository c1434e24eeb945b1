"""Measures the link between two hosts with plain TCP: reaches it, how fast, how much is lost.

No torch, no rights: what the kernel's own counters of the connection tell (`TCP_INFO`) is the loss
that NCCL's and gloo's sockets will meet.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from unhang.checking.host import waited_for_core

_CHUNK = 1 << 18
_SECONDS = 0.6
_MOST = 1 << 30
_PINGS = 20
_RETRANSMITTED, _SEGMENTS = 100, 136
"""Offsets of `tcpi_total_retrans` and `tcpi_segs_out` in linux/tcp.h's struct tcp_info."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one end of a link saw.

    Attributes:
        bytes_per_s: that it received.
        rtt_s: the median of small messages and their echoes; None at the end that answers.
        retransmitted, segments: that it sent again, and altogether.
        starved: share of the time in which this end was ready to run and had no core.
        error: why it ended early.
    """

    bytes_per_s: float = 0.0
    rtt_s: float | None = None
    retransmitted: int = 0
    segments: int = 0
    starved: float = 0.0
    error: str = ""

    def as_message(self) -> Mapping[str, object]:
        """For the wire."""
        return asdict(self)


def listen(address: str) -> socket.socket:
    """A socket that waits for the other end.

    Raises:
        OSError: the address is none of this host.
    """
    return socket.create_server((address, 0))


def serve(server: socket.socket, limit_s: float) -> Measured:
    """The end that is called."""
    server.settimeout(limit_s)
    try:
        connected, _ = server.accept()
    except OSError as error:
        return Measured(error=_said(error, "nobody connected"))
    finally:
        server.close()
    return _talk(connected, limit_s, calls=False)


def connect(address: str, port: int, source: str, limit_s: float) -> Measured:
    """The end that calls, from the address that the job's traffic will come from."""
    try:
        connected = socket.create_connection((address, port), limit_s, (source, 0))
    except OSError as error:
        return Measured(error=_said(error, "cannot connect"))
    return _talk(connected, limit_s, calls=True)


def _talk(connected: socket.socket, limit_s: float, *, calls: bool) -> Measured:
    connected.settimeout(limit_s)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    begun, waited = time.perf_counter(), waited_for_core()
    rtt: float | None = None
    rate = 0.0
    error = ""
    try:
        if calls:
            rtt = _ping(connected)
            _pour(connected)
            rate = _drain(connected)
        else:
            _echo(connected)
            rate = _drain(connected)
            _pour(connected)
    except (OSError, ConnectionError) as problem:
        error = _said(problem, "the connection broke")
    again, sent = _counters(connected)
    starved = (waited_for_core() - waited) / max(time.perf_counter() - begun, 1e-9)
    with contextlib.suppress(OSError):
        connected.close()
    return Measured(
        bytes_per_s=rate,
        rtt_s=rtt,
        retransmitted=again,
        segments=sent,
        starved=starved,
        error=error,
    )


def _ping(connected: socket.socket) -> float:
    times = []
    for _ in range(_PINGS):
        begun = time.perf_counter()
        connected.sendall(b"?")
        _exactly(connected, 1)
        times.append(time.perf_counter() - begun)
    return sorted(times)[_PINGS // 2]


def _echo(connected: socket.socket) -> None:
    for _ in range(_PINGS):
        connected.sendall(_exactly(connected, 1))


def _pour(connected: socket.socket) -> None:
    """Send for a while, then say how much it was; the end of it is acknowledged."""
    chunk = bytes(_CHUNK)
    begun = time.perf_counter()
    sent = 0
    while sent < _MOST and (sent == 0 or time.perf_counter() - begun < _SECONDS):
        connected.sendall(struct.pack("!I", len(chunk)))
        connected.sendall(chunk)
        sent += len(chunk)
    connected.sendall(struct.pack("!I", 0))
    _exactly(connected, 1)


def _drain(connected: socket.socket) -> float:
    begun = time.perf_counter()
    received = 0
    while (size := struct.unpack("!I", _exactly(connected, 4))[0]) != 0:
        _exactly(connected, min(size, _CHUNK))
        received += size
    seconds = time.perf_counter() - begun
    connected.sendall(b".")
    return received / max(seconds, 1e-9)


def _exactly(connected: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        piece = connected.recv(count - len(parts))
        if not piece:
            raise ConnectionError("the other end hung up")
        parts.extend(piece)
    return bytes(parts)


def _counters(connected: socket.socket) -> tuple[int, int]:
    try:
        info = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:
        return 0, 0
    again = struct.unpack_from("=I", info, _RETRANSMITTED)[0] if len(info) > _RETRANSMITTED else 0
    sent = struct.unpack_from("=I", info, _SEGMENTS)[0] if len(info) >= _SEGMENTS + 4 else 0
    return again, sent


def _said(error: Exception, what: str) -> str:
    return f"{what}: {getattr(error, 'strerror', None) or error}"
