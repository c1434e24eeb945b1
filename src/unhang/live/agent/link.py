"""The agent's end of its pipes to the relay: lines of JSON, each way."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from typing import Any

_READ_BYTES = 1 << 16

Message = dict[str, Any]


class Link:
    """The two pipes.

    Args:
        source: what the relay writes; its end is the end of the relay.
        sink: what the relay reads.
    """

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self._sink = sink
        self._rest = b""
        self._sending = threading.Lock()

    @classmethod
    def take_over(cls) -> Link:
        """Take our standard input and output for this, and leave harmless ones in their place.

        What we start (debuggers, the user's command) must neither read the relay's messages nor
        hold its pipe open; what anything prints goes to our log.
        """
        link = cls(os.dup(0), os.dup(1))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return link

    def receive_first(self) -> Message | None:
        """Wait for the first message, and read no more than that; None when there is none."""
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self.source, 1)
            if not byte:
                return None
            line += byte
        message: Message = json.loads(line)
        return message

    def receive(self) -> list[Message] | None:
        """Take what is there; None at the end of the relay."""
        data = os.read(self.source, _READ_BYTES)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def send(self, message: Message) -> None:
        """Send a message, whole, if there still is somebody; from any thread."""
        rest = json.dumps(message).encode() + b"\n"
        with self._sending, contextlib.suppress(OSError):
            while rest:
                rest = rest[os.write(self._sink, rest) :]
