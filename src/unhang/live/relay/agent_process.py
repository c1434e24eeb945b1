"""The agent as the relay sees it: a process of its own, started again when it dies.

Both talk in lines of JSON, over pipes. To the agent: `{"request": …, "job": pid, "again": bool,
"boot_s": …, "lost": […]}`, `{"exit": [pid, wait status]}`, `{"signal": n}` by which it is asked to
end, `{"ended": exit code}`. From it:
`{"say": text}`, `{"done": {"exit_code": 86 | null, "outcome": …}}`, and, since each word may be its
last, at once: `{"lost": […]}`, and `{"ending": [pids]}` before it ends a hang, which a later agent
is told again. The relay never waits for the agent while the job runs, and the job knows nothing of
either.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any, BinaryIO

from unhang.live.messages.losses import Loss, losses_from_json, losses_to_json
from unhang.live.messages.request import RunRequest
from unhang.live.run_folder.clock import RunClock

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; from unhang.live.agent.agent import main; main()"
)
"""Not `-m`, which looks for modules in the working folder first: users have a `queue.py` there."""

_MOST_STARTS = 6
_FIRST_PAUSE_S = 0.5
_LONG_S = 600.0
"""An agent that has lived so long was no agent that cannot live."""
_READ_BYTES = 1 << 16

_MOST_FACTS = 256
"""That a later agent is told again: it needs the newest."""


class AgentProcess:
    """Keeps an agent alive.

    Args:
        request: what the agent needs to know.
        job: number of the command's process.
        clock: of the run.
        log: file for what it says when it breaks.

    Attributes:
        lost: what this agent, and those before it, could not see or do.
    """

    def __init__(self, request: RunRequest, job: int, clock: RunClock, log: Path) -> None:
        self._request = request
        self._job = job
        self._clock = clock
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0
        self._started_s = 0.0
        self._died_s = 0.0
        self._next_start: float | None = None
        self._rest = b""
        self._facts: deque[dict[str, Any]] = deque(maxlen=_MOST_FACTS)
        self.lost: list[Loss] = []

    @property
    def pid(self) -> int | None:
        """Of the process that runs now."""
        return None if self._process is None else self._process.pid

    @property
    def descriptor(self) -> int | None:
        """What to wait on for its messages."""
        out = None if self._process is None else self._process.stdout
        return None if out is None else out.fileno()

    @property
    def next_start(self) -> float | None:
        """Monotonic time at which a dead agent is started again, or None."""
        return self._next_start

    def start(self) -> None:
        """Start it; what it has to know of the job is told again."""
        again = self._starts > 0
        self._starts += 1
        self._started_s = time.monotonic()
        self._next_start = None
        self._rest = b""
        try:
            with self._open_log() as log:
                self._process = subprocess.Popen(  # noqa: S603 (our own program)
                    [sys.executable, "-c", _PROGRAM, *sys.path],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is for the job
                    bufsize=0,
                )
        except OSError as error:
            self.lost.append(Loss.of("agent_unstarted", why=str(error.strerror)))
            return
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        if again:
            gap_s = round(self._started_s - self._died_s, 1)
            self.lost.append(Loss.of("agent_died", gap=gap_s))
        start = {"request": self._request.to_json(), "job": self._job, "again": again}
        self._send(start | {"boot_s": self._clock.boot_s, "lost": losses_to_json(self.lost)})
        for fact in self._facts:
            self._send(fact)

    def tell(self, fact: dict[str, Any]) -> None:
        """Tell a fact of the job, now and to every later agent of this run."""
        self._facts.append(fact)
        self._send(fact)

    def read(self) -> list[dict[str, Any]]:
        """Take its messages; when it has ended, plan its next start."""
        assert self._process is not None
        assert self._process.stdout is not None
        data = os.read(self._process.stdout.fileno(), _READ_BYTES)
        if not data:
            self._ended()
            return []
        *lines, self._rest = (self._rest + data).split(b"\n")
        messages = [message for line in lines if isinstance(message := json.loads(line), dict)]
        for message in messages:
            self.lost += losses_from_json(message.get("lost"))
            if "ending" in message:  # for those who come after it
                self._facts.append({"ending": message["ending"]})
        return messages

    def close(self) -> None:
        """Let go of it: it ends when it reads the end of our pipe."""
        self._next_start = None
        if self._process is not None:
            self._let_go(self._process)

    def _open_log(self) -> BinaryIO:
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            return os.fdopen(os.open(self._log, flags, 0o600), "ab")
        except OSError:  # a full disk
            return Path(os.devnull).open("ab")

    def _ended(self) -> None:
        assert self._process is not None
        self._let_go(self._process)
        self._died_s = time.monotonic()
        if self._died_s - self._started_s > _LONG_S:
            self._starts = 1
        if self._starts < _MOST_STARTS:
            self._next_start = self._died_s + _FIRST_PAUSE_S * 2 ** (self._starts - 1)
        else:
            self.lost.append(Loss.of("agent_given_up", log=str(self._log)))

    def _let_go(self, process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.returncode = 0  # the relay reaps it with all its children
        self._process = None

    def _send(self, message: dict[str, Any]) -> None:
        if self._process is None or self._process.stdin is None:
            return
        # A full or broken pipe: the agent hangs or is gone, which its silence will show.
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
