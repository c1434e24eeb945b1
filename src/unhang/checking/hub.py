"""Messages between rank 0 and all ranks: lines of JSON over TCP, each way with an end.

Nothing that is received is ever run: an answer is data, and an order names one of a few things that
a member knows. The key of the job keeps other jobs out; it is no defence against somebody on the
same network who means harm, who could falsify the report and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Any

from unhang.errors import UsageError

Message = Mapping[str, Any]
PORTS_TRIED = 8
_PIECE = 1 << 16
_MOST_BYTES = 32 << 20
_BETWEEN_S = 0.3


class Line:
    """One connection: whole messages in and out."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._heard = bytearray()
        self.messages: deque[Message] = deque()

    def send(self, message: Message) -> None:
        """Send one message.

        Raises:
            OSError: the other side has gone.
        """
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def hear(self) -> bool:
        """Read what is there; False when the other side has gone, or talks nonsense."""
        try:
            piece = self.socket.recv(_PIECE)
        except OSError:
            return False
        self._heard.extend(piece)
        *lines, rest = self._heard.split(b"\n")
        self._heard = bytearray(rest)
        for line in lines:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                return False
            if not isinstance(message, dict):
                return False
            self.messages.append(message)
        return bool(piece) and len(self._heard) <= _MOST_BYTES

    def receive(self, until: float) -> Message | None:
        """The next message; None when the other side has gone, or it does not come in time."""
        while not self.messages:
            left = until - time.monotonic()
            if left <= 0:
                return None
            self.socket.settimeout(left)
            if not self.hear() and not self.messages:
                return None
        return self.messages.popleft()

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(OSError):
            self.socket.close()


class Hub:
    """Rank 0's side.

    Attributes:
        lines: one for each rank that is there.
        hellos: what each rank said when it came.
        lost: ranks that were there and have gone.
    """

    def __init__(self, port: int, key: str) -> None:
        self._server = _listen(port)
        self._key = key
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._server, selectors.EVENT_READ)
        self.lines: dict[int, Line] = {}
        self.hellos: dict[int, Message] = {}
        self.lost: set[int] = set()

    def gather(self, world: int, until: float) -> None:
        """Wait until all ranks have come."""
        self._pump(until, lambda: len(self.hellos) >= world)

    def order(self, rank: int, message: Message) -> None:
        """Tell one rank what to do; who has gone is lost."""
        line = self.lines.get(rank)
        if line is None:
            return
        line.socket.setblocking(True)
        try:
            line.send(message)
        except OSError:
            self._lose(rank)

    def collect(self, tag: str, ranks: Collection[int], until: float) -> dict[int, Message]:
        """Answers to one order, of those ranks that give one in time."""
        answers: dict[int, Message] = {}

        def complete() -> bool:
            for rank in ranks:
                line = self.lines.get(rank)
                while line is not None and line.messages:
                    message = line.messages.popleft()
                    if message.get("tag") == tag:
                        answers[rank] = message
            return all(rank in answers or rank not in self.lines for rank in ranks)

        self._pump(until, complete)
        return answers

    def ask(self, tag: str, orders: Mapping[int, Message], limit_s: float) -> dict[int, Message]:
        """Send an order to some ranks, and collect their answers."""
        for rank, order in orders.items():
            self.order(rank, {**order, "tag": tag})
        return self.collect(tag, list(orders), time.monotonic() + limit_s)

    def close(self) -> None:
        """Hang up with everybody."""
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, Line):
                key.data.close()
        self._server.close()
        self._selector.close()

    def _pump(self, until: float, done: Callable[[], bool]) -> None:
        while not done():
            left = until - time.monotonic()
            if left <= 0:
                return
            for key, _ in self._selector.select(left):
                if key.fileobj is self._server:
                    self._accept()
                else:
                    self._hear(key.data)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            connected, _ = self._server.accept()
            self._selector.register(connected, selectors.EVENT_READ, Line(connected))

    def _hear(self, line: Line) -> None:
        there = line.hear()
        rank = next((rank for rank, one in self.lines.items() if one is line), None)
        if rank is None and line.messages:
            rank = self._welcome(line)
            there = there and rank is not None
        if not there:
            self._selector.unregister(line.socket)
            line.close()
            if rank is not None:
                self._lose(rank)

    def _welcome(self, line: Line) -> int | None:
        hello = line.messages.popleft()
        rank = hello.get("rank")
        if hello.get("key") != self._key or not isinstance(rank, int) or rank in self.lines:
            return None
        self.lines[rank] = line
        self.hellos[rank] = hello
        self.order(rank, {"do": "welcome"})
        return rank

    def _lose(self, rank: int) -> None:
        self.lost.add(rank)
        line = self.lines.pop(rank, None)
        if line is not None:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(line.socket)
            line.close()


def call(address: str, port: int, hello: Message, limit_s: float) -> Line:
    """Join rank 0.

    Raises:
        UsageError: it cannot be reached in time; the message says what was tried, and what it said.
    """
    until = time.monotonic() + limit_s
    why = "nobody answers"
    while time.monotonic() < until:
        for number in range(port, port + PORTS_TRIED):
            left = until - time.monotonic()
            try:
                connected = socket.create_connection((address, number), max(0.1, min(left, 3.0)))
            except OSError as error:
                if number == port:
                    why = error.strerror or str(error)
                if isinstance(error, (TimeoutError, socket.gaierror)):
                    break  # nobody is there, or everything is dropped
                continue
            line = Line(connected)
            with contextlib.suppress(OSError):
                line.send(hello)
                welcome = line.receive(min(until, time.monotonic() + 5.0))
                if welcome is not None and welcome.get("do") == "welcome":
                    connected.settimeout(None)
                    return line
            line.close()
        time.sleep(_BETWEEN_S)
    raise UsageError(
        f"rank 0 cannot be reached at {address}:{port} within {limit_s:.0f} s ({why}); check for"
        " a firewall between the hosts, a wrong MASTER_ADDR, or a first host that did not start"
    )


def _listen(port: int) -> socket.socket:
    free = (_server(number) for number in range(port, port + PORTS_TRIED))
    server = next((one for one in free if one is not None), None)
    if server is None:
        raise UsageError(
            f"nobody can listen on the ports {port}-{port + PORTS_TRIED - 1} of this host; give"
            " --port one that is free"
        )
    return server


def _server(port: int) -> socket.socket | None:
    try:
        return socket.create_server(("", port), backlog=4096)
    except OSError:
        return None
