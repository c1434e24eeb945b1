"""The processes of a drill's job: started, listened to, and never left behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from unhang.errors import UsageError

_PREFIX = re.compile(rb"^\[[A-Za-z_]*(?P<local>\d{1,3})\]:")
"""What torchrun prints before a line of a rank: `[default0]:`."""

_GONE_S = 5.0


class Launcher:
    """One launcher, with what it prints.

    Attributes:
        node: its number; the ranks of a node follow those of the nodes before.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        logs: Console,
        node: int = 0,
    ) -> None:
        self.node = node
        try:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(
                f"'{command[0]}' cannot be started ({error.strerror}); give a launch command after"
                " `--` as you would type it"
            ) from error
        assert self.process.stdout is not None
        self._reader = threading.Thread(
            target=logs.copy, args=(self.process.stdout, node), daemon=True
        )
        self._reader.start()

    def ended(self) -> bool:
        """Whether the launcher's process is over."""
        return self.process.poll() is not None

    def close(self) -> int:
        """End it if need be; its exit code."""
        if not self.ended():
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        code = self.process.wait()
        self._reader.join(_GONE_S)
        return code


class Console:
    """Sorts what launchers print into `merged.log` and one log for each rank."""

    def __init__(self, folder: Path, *, nodes: int, per_node: int) -> None:
        self._folder = folder
        self._nodes, self._per_node = nodes, per_node
        self._lock = threading.Lock()
        self._files: dict[str, IO[bytes]] = {}

    def copy(self, stream: IO[bytes], node: int) -> None:
        """Copy a stream to its end."""
        with stream:
            for line in stream:
                self._write("merged.log", self._of_node(node) + line)
                match = _PREFIX.match(line)
                if match is not None:
                    rank = node * self._per_node + int(match["local"])
                    self._write(f"rank_{rank}.log", line[match.end() :])

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            for file in self._files.values():
                file.close()
            self._files.clear()

    def _of_node(self, node: int) -> bytes:
        return f"node-{node}: ".encode() if self._nodes > 1 else b""

    def _write(self, name: str, line: bytes) -> None:
        with self._lock:
            if name not in self._files:
                self._files[name] = (self._folder / name).open("ab", buffering=0)
            self._files[name].write(line)


def marks(variable: str) -> Iterator[tuple[int, str]]:
    """Processes whose environment holds a variable, each with its value; not this one."""
    name = f"{variable}=".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            for word in (entry / "environ").read_bytes().split(b"\0"):
                if word.startswith(name):
                    yield int(entry.name), os.fsdecode(word[len(name) :])


def marked_processes(variable: str, value: str) -> Iterator[int]:
    """Processes whose environment holds `variable=value`: those that a drill started."""
    return (pid for pid, held in marks(variable) if held == value)


def end_processes(variable: str, value: str) -> None:
    """Kill what a drill started and wait until it is gone.

    A process that is just being started shows no environment, so nothing must be found twice.
    """
    end = time.monotonic() + _GONE_S
    quiet = 0
    while time.monotonic() < end and quiet < 2:
        left = [pid for pid in marked_processes(variable, value) if is_alive(pid)]
        quiet = 0 if left else quiet + 1
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(0.05)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, if there still is one."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def is_alive(pid: int) -> bool:
    """Whether a process runs, sleeps or is stopped; a zombie does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"
