"""From torch.multiprocessing, Lightning and PyTorch's data loader to the processes that ended.

Reads::

    torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with signal SIGKILL
    -- Process 3 terminated with the following error:
    [rank: 3] Child process with PID 4711 terminated with code -9. Forcefully terminating all …
    RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible …
    ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient …

Traps: mp.spawn's index is the local rank, and it reports one of several; a data loader's worker
is no rank; a worker killed by `Hangup` means a closed session, not memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import ClosingSignal, Event, ProcessEnded, Reporter, StopKind, StopSeen
from unhang.model.forms import named
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.signals import signal_number, split_exit
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/spawn.toml")
_SPAWNED = _PATTERNS["spawned"]
_LIGHTNING = _PATTERNS["lightning"]
_CLOSED = re.compile(r"\[rank:?\s*(?P<rank>\d{1,7})\]\s*Received SIGTERM: 15")
_WORKER_KILLED = _PATTERNS["worker_killed"]
_WORKER_EXITED = _PATTERNS["worker_exited"]
_WORKER_ERROR = _PATTERNS["worker_error"]
_HANGUP = 1


class SpawnParser(LineParser, name="spawn"):
    """Parser of what parent processes say of their children."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which process ended how."""
        yield from _children(line)
        yield from _workers(line)


def _children(line: Line) -> Iterator[Event]:
    """Ranks that their parent reports."""
    for match in line.sayings(_SPAWNED):
        number = None if match["signal"] is None else signal_number(match["signal"])
        code = 1 if match["code"] is None else int(match["code"])
        number, exit_code = (number, None) if number is not None else split_exit(code)
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.SPAWN,
            local_rank=LocalRank(int(match["index"])),
            signal=number,
            exit_code=exit_code,
            reported_first=True,
        )
    for match in line.sayings(_LIGHTNING):
        number, exit_code = split_exit(int(match["code"]))
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.LIGHTNING,
            rank=None if match["rank"] is None else Rank(int(match["rank"])),
            pid=int(match["pid"]),
            signal=number,
            exit_code=exit_code,
            reported_first=True,
        )
    if line.says(_CLOSED):
        yield ClosingSignal(**place(line), pid=line.origin.pid, signal=15)


def _workers(line: Line) -> Iterator[Event]:
    """Helper processes of a rank."""
    for match in line.sayings(_WORKER_KILLED):
        number = signal_number(match["signal"])
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.DATALOADER,
            pid=int(match["pid"]),
            signal=number,
            worker=True,
        )
        if number == _HANGUP:
            yield StopSeen(**place(line), kind=StopKind.HANGUP)
    for match in line.sayings(_WORKER_EXITED):
        number, exit_code = (
            (None, None) if match["code"] is None else split_exit(int(match["code"]))
        )
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.DATALOADER,
            pid=int(match["pid"]),
            signal=number,
            exit_code=exit_code,
            worker=True,
        )
    for match in line.sayings(_WORKER_ERROR):
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.DATALOADER,
            signal=signal_number(match["signal"].replace("-", " ")),
            worker=True,
        )
