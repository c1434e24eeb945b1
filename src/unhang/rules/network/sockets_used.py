"""Whether NCCL moves data between hosts over sockets."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.model.events import TransportUsed
from unhang.rules.shared import speakers


def is_socket(transport: TransportUsed) -> bool:
    """Whether it is a channel over a socket, or the choice of sockets."""
    return transport.transport in {"NET/Socket", "Socket"}


def cross_hosts(sockets: Sequence[TransportUsed]) -> bool:
    """A channel over a socket crosses hosts; the choice alone needs several hosts to matter."""
    if any(t.transport == "NET/Socket" for t in sockets):
        return True
    return len(speakers.hosts(sockets)) > 1
