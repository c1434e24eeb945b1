"""What every rank does in a check of a cluster: takes orders from rank 0 and answers them."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from unhang import __version__
from unhang.checking.agreement import SETTINGS
from unhang.checking.asking import ask
from unhang.checking.host import Host, HostRequest
from unhang.checking.hub import Line, call
from unhang.checking.interfaces import gloo_takes, interfaces, nccl_takes, own_address
from unhang.checking.launched import Seat
from unhang.checking.links import connect, listen, serve
from unhang.checking.worker_process import WorkerProcess
from unhang.model.codec import decode, encode

SWEPT = r"(?!.*(?:PLUGIN|FILE|PATH|LIB))(?:NCCL|TORCH|GLOO|UCX|OMP)_[A-Z0-9_]+"
"""Variables that rank 0 may set for a worker: none that names code or a file to be read."""
_SILENT_S = 900.0
"""Rank 0 that says nothing for so long has gone."""


def take_part(seat: Seat, backend: str, join_s: float) -> int:
    """Join, carry orders out until the end, and return the exit code that rank 0 decides.

    Raises:
        UsageError: rank 0 cannot be reached, or has gone.
    """
    hello = {
        "rank": seat.rank,
        "local_rank": seat.local_rank,
        "host": seat.host,
        "host_key": seat.host_key,
        "key": seat.key,
        "unhang": __version__,
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
        "address": _address(backend),
        "cores": sorted(os.sched_getaffinity(0)),
    }
    line = call(seat.address, seat.port, hello, join_s)
    member = _Member(seat, line, backend)
    try:
        return member.work()
    finally:
        member.close()


def _address(backend: str) -> str | None:
    """Where others will reach this host: the address that the job's traffic takes."""
    found = interfaces(Host())
    taken = gloo_takes(found, os.environ, own_address())
    if backend == "nccl" or (taken is None and "GLOO_SOCKET_IFNAME" not in os.environ):
        taken = nccl_takes(found, os.environ)
    return None if taken is None else taken.address


class _Member:
    """Answers one order after the other."""

    def __init__(self, seat: Seat, line: Line, backend: str) -> None:
        self._seat = seat
        self._line = line
        self._worker = WorkerProcess(seat.local_rank, backend)
        self._server: socket.socket | None = None
        self._orders: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
            "facts": self._facts,
            "clock": lambda _: {"now": time.time()},
            "start": lambda order: self._worker.start(float(order["limit_s"])),
            "port": self._port,
            "group": self._group,
            "listen": self._listen,
            "serve": self._serve,
            "connect": self._connect,
        }

    def work(self) -> int:
        """Until rank 0 says that it is over, or has gone: 3, unknown."""
        while (order := self._line.receive(time.monotonic() + _SILENT_S)) is not None:
            if order.get("do") == "end":
                return int(order.get("code", 0))
            act = self._orders.get(str(order.get("do")))
            if act is None:
                continue
            try:
                answer = act(order)
            except (OSError, ValueError, KeyError, TypeError) as error:
                answer = {"error": f"{type(error).__name__}: {error}"[:300]}
            self._line.send({**answer, "tag": order.get("tag")})
        return 3

    def close(self) -> None:
        """End everything that was begun."""
        self._worker.close()
        self._line.close()
        if self._server is not None:
            self._server.close()

    def _facts(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        request = decode(HostRequest, order["request"])
        stages = ask(replace(request, ranks=self._seat.local_world), limit_s=order["limit_s"])
        return {"stages": [encode(stage) for stage in stages]}

    def _port(self, _order: Mapping[str, Any]) -> Mapping[str, Any]:
        """One that is free now."""
        with socket.create_server(("", 0)) as server:
            return {"port": server.getsockname()[1]}

    def _group(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        wanted = order.get("environment")
        if wanted is not None:
            own = {str(n): str(v) for n, v in dict(wanted).items() if re.fullmatch(SWEPT, str(n))}
            self._worker.close()
            self._worker = WorkerProcess(self._seat.local_rank, str(order["backend"]), own)
        return self._worker.run(order, float(order["limit_s"]))

    def _listen(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._server is not None:
            self._server.close()
        self._server = listen(str(order["address"]))
        return {"port": self._server.getsockname()[1]}

    def _serve(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        server, self._server = self._server, None
        assert server is not None
        return serve(server, float(order["limit_s"])).as_message()

    def _connect(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        limit_s = float(order["limit_s"])
        return connect(order["address"], int(order["port"]), order["source"], limit_s).as_message()
