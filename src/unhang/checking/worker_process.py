"""Keeps the process of one rank that runs collectives: gives orders, waits with an end, ends it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import Any

from unhang.capturing.bounded import kill

_PIECE = 1 << 16
_STACKS_S = 1.0
_TAIL = 32 << 10
_START_S = 120.0
"""What importing torch may take on a host that is busy."""


class WorkerProcess:
    """One worker; started when the first order comes, and again after one that hung."""

    def __init__(
        self, local_rank: int, backend: str, settings: Mapping[str, str] | None = None
    ) -> None:
        self._settings = settings or {}
        self._local_rank = local_rank
        self._backend = backend
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = TemporaryFile()  # noqa: SIM115 (lives as long as this does)
        self._heard = bytearray()

    def start(self, limit_s: float = _START_S) -> Mapping[str, Any]:
        """Start it, and let it import torch."""
        if self._process is not None and self._process.poll() is None:
            return {"done": True}
        self._end()
        environment = {**os.environ, "LOCAL_RANK": str(self._local_rank), **self._settings}
        # The rendezvous of a launcher is not ours: each group has its own.
        for name in ("TORCHELASTIC_USE_AGENT_STORE", "MASTER_ADDR", "MASTER_PORT"):
            environment.pop(name, None)
        self._process = subprocess.Popen(
            (sys.executable, "-m", "unhang.checking.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,
        )
        self._heard.clear()
        order = {"do": "start", "backend": self._backend, "local_rank": self._local_rank}
        return self._do(order, limit_s)

    def run(self, order: Mapping[str, Any], limit_s: float) -> Mapping[str, Any]:
        """Carry an order out; what hangs is asked where it stands, and ended."""
        started = self.start()
        if "error" in started:
            return started
        return self._do(order, limit_s)

    def close(self) -> None:
        """End it, for good."""
        self._end()
        self._errors.close()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            kill(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _do(self, order: Mapping[str, Any], limit_s: float) -> Mapping[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # a dead worker is told by its silence
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
        until = time.monotonic() + limit_s
        entered: Mapping[str, Any] = {}
        while (message := self._message(until)) is not None:
            if message.get("done"):
                return message
            entered = message
        return self._hung(entered, limit_s)

    def _hung(self, entered: Mapping[str, Any], limit_s: float) -> Mapping[str, Any]:
        process = self._process
        assert process is not None
        if process.poll() is not None:
            error = f"the process ended by itself with {process.returncode}"
            return {"error": error, "entered": entered, "log": self._log()}
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGUSR1)
        time.sleep(_STACKS_S)
        self._end()
        return {"hung_s": limit_s, "entered": entered, "log": self._log()}

    def _log(self) -> str:
        """The end of what it has printed, with its stacks."""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _TAIL))
        return self._errors.read().decode(errors="replace")

    def _message(self, until: float) -> Mapping[str, Any] | None:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        while b"\n" not in self._heard:
            left = until - time.monotonic()
            if left <= 0:
                return None
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                if not selector.select(left):
                    return None
            piece = os.read(process.stdout.fileno(), _PIECE)
            if not piece:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(1.0)
                return None
            self._heard.extend(piece)
        line, _, rest = self._heard.partition(b"\n")
        self._heard = bytearray(rest)
        message: Mapping[str, Any] = json.loads(line)
        return message
