"""From a pid, or the folder of a run, to the processes of the job on this node and their ranks.

A launcher's descendants are found by their parents. A rank is the outermost Python that has RANK
(or a scheduler's name for it) in its environment; those below it that inherited the same one are
its loaders, and shells above it its launchers. Environments and command lines are read by a child:
they may hang their reader.
"""

from __future__ import annotations

import enum
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from unhang.capturing.reading import ReadAnswer, ReadRequest, read
from unhang.errors import UsageError
from unhang.model.ids import LocalRank, Rank

_PROC = Path("/proc")
_LIMIT_S = 4.0
_ENVIRONMENT_LIMIT = 1 << 20
_COMMAND_LIMIT = 64 << 10
_RANK_NAMES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_LOCAL_NAMES = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
_LAUNCHERS = frozenset(
    {"torchrun", "accelerate", "accelerate-launch", "deepspeed", "srun", "mpirun", "ray", "unhang"}
)
_LAUNCHER_MODULES = ("torch.distributed.", "accelerate.", "deepspeed.launcher", "unhang")
_NAMES_OF_PYTHON = ("python", "pt_main", "ray::")
RUN_VARIABLE = "UNHANG_RUN"
"""Names the run folder in the environment of the processes that `unhang run` started."""


class ProcessRole(enum.Enum):
    """What a process is in the job."""

    RANK = "rank"
    LAUNCHER = "launcher"
    LOADER = "loader"
    """Below a rank: a data loader's worker, a compiler."""
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProcess:
    """A process of the job, as it was when the capture began.

    Attributes:
        started_s: seconds since the epoch.
        state: of its main thread, as `/proc` has it: R, S, D, T, Z.
        words: its command line; empty where it could not be read.
        environment: that it was started with; None where it could not be read.
    """

    pid: int
    parent: int
    state: str
    name: str
    started_s: float
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    role: ProcessRole = ProcessRole.OTHER
    rank: Rank | None = None
    local_rank: LocalRank | None = None

    @property
    def subject(self) -> str:
        """What the manifest calls it."""
        if self.role is ProcessRole.RANK and self.rank is not None:
            return f"rank {self.rank}"
        return f"pid {self.pid}"

    @property
    def folder(self) -> str:
        """Where its files lie in a bundle; the name tells a reader the rank."""
        if self.role is ProcessRole.RANK and self.rank is not None:
            return f"rank_{self.rank}"
        return f"pid_{self.pid}"

    def variable(self, name: str) -> str | None:
        """One variable of its environment."""
        return None if self.environment is None else self.environment.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stat:
    pid: int
    parent: int
    state: str
    name: str
    started_s: float


@dataclass(slots=True)
class _ToldByProcess:
    """What a process says of itself."""

    words: tuple[str, ...] = ()
    environment: dict[str, str] | None = None


def find_below(pids: Sequence[int], proc: Path = _PROC) -> tuple[JobProcess, ...]:
    """Return the processes of `pids` and all that descend from them.

    Raises:
        UsageError: one of them is not there, or this system has no `/proc`.
    """
    stats = _stats(proc)
    if not stats:
        raise UsageError(f"this system has no {proc}; a capture needs Linux, on the job's own host")
    for pid in pids:
        if pid not in stats:
            raise UsageError(
                f"there is no process {pid} on this host; give the pid of a running launcher or"
                " rank (`pgrep -af torchrun` finds it), on the host that it runs on"
            )
    chosen = _descendants(pids, stats)
    return _described([stats[pid] for pid in chosen], proc)


def find_all(proc: Path = _PROC) -> tuple[JobProcess, ...]:
    """Return all processes on this host that this user may look into."""
    mine = [stat for pid, stat in _stats(proc).items() if _is_readable(proc, pid)]
    return _described([stat for stat in mine if stat.pid != os.getpid()], proc)


def find_run(folder: Path, proc: Path = _PROC) -> tuple[JobProcess, ...]:
    """Return the processes on this host that `unhang run` started for the run in `folder`."""
    mine = {pid: stat for pid, stat in _stats(proc).items() if _is_readable(proc, pid)}
    mine.pop(os.getpid(), None)
    found = _described(list(mine.values()), proc)
    root = os.path.realpath(folder)
    return tuple(
        process
        for process in found
        if (named := process.variable(RUN_VARIABLE)) is not None and os.path.realpath(named) == root
    )


def _is_readable(proc: Path, pid: int) -> bool:
    return os.access(proc / str(pid) / "environ", os.R_OK)


def _stats(proc: Path) -> dict[int, _Stat]:
    booted = _booted_s(proc)
    found = {}
    for entry in proc.iterdir() if proc.is_dir() else ():
        if entry.name.isdigit() and (stat := _stat(entry, booted)) is not None:
            found[stat.pid] = stat
    return found


def _stat(entry: Path, booted: float) -> _Stat | None:
    """The fields of `stat`, counted from behind the name, which may hold anything."""
    try:
        text = (entry / "stat").read_text(errors="replace")
        front, _, behind = text.rpartition(")")
        fields = behind.split()
        return _Stat(
            pid=int(entry.name),
            state=fields[0],
            parent=int(fields[1]),
            name=front.partition("(")[2],
            started_s=booted + int(fields[19]) / os.sysconf("SC_CLK_TCK"),
        )
    except (OSError, ValueError, IndexError):
        return None


def _booted_s(proc: Path) -> float:
    try:
        return time.time() - float((proc / "uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0


def _descendants(pids: Iterable[int], stats: Mapping[int, _Stat]) -> list[int]:
    """The processes and those below, parents first."""
    children: dict[int, list[int]] = {}
    for stat in stats.values():
        children.setdefault(stat.parent, []).append(stat.pid)
    chosen: list[int] = []
    waiting = sorted(set(pids), reverse=True)
    while waiting:
        pid = waiting.pop()
        if pid not in chosen:
            chosen.append(pid)
            waiting.extend(sorted(children.get(pid, ()), reverse=True))
    return chosen


def _described(stats: Sequence[_Stat], proc: Path) -> tuple[JobProcess, ...]:
    told = _tell(stats, proc)
    plain = [
        JobProcess(
            pid=stat.pid,
            parent=stat.parent,
            state=stat.state,
            name=stat.name,
            started_s=stat.started_s,
            words=told[stat.pid].words,
            environment=told[stat.pid].environment,
        )
        for stat in stats
    ]
    return with_roles(plain)


def _tell(stats: Sequence[_Stat], proc: Path) -> dict[int, _ToldByProcess]:
    told = {stat.pid: _ToldByProcess() for stat in stats}
    requests = []
    for stat in stats:
        folder = f"{proc}/{stat.pid}"
        requests.append(ReadRequest(f"{folder}/environ", limit=_ENVIRONMENT_LIMIT))
        requests.append(ReadRequest(f"{folder}/cmdline", limit=_COMMAND_LIMIT))
    for answer in read(requests, limit_s=_LIMIT_S, stall_s=1.0):
        pid = int(Path(answer.request.path).parent.name)
        if answer.error is None:
            _note(told[pid], answer)
    return told


def _note(told: _ToldByProcess, answer: ReadAnswer) -> None:
    parts = answer.text.split("\0")
    if answer.request.path.endswith("environ"):
        pairs = (part.partition("=") for part in parts)
        told.environment = {name: value for name, sign, value in pairs if sign}
    else:
        told.words = tuple(part for part in parts if part)


def with_roles(processes: Sequence[JobProcess]) -> tuple[JobProcess, ...]:
    """Tell ranks from launchers and loaders. Pure."""
    by_pid = {process.pid: process for process in processes}
    ranks = {p.pid: rank for p in processes if (rank := _rank(p)) is not None}
    outermost = {pid for pid in ranks if _is_outermost(by_pid[pid], by_pid, ranks)}
    above = {p for pid in outermost for p in _ancestors(by_pid[pid], by_pid)}
    return tuple(_with_role(p, by_pid, ranks, outermost, above) for p in processes)


def _is_outermost(
    process: JobProcess, by_pid: Mapping[int, JobProcess], ranks: Mapping[int, Rank]
) -> bool:
    """The first Python of its rank: shells and wrappers above it only started it."""
    rank = ranks[process.pid]
    same = [pid for pid in _ancestors(process, by_pid) if ranks.get(pid) == rank]
    if any(_is_python(by_pid[pid]) for pid in same):
        return False
    return _is_python(process) or not same


def _is_python(process: JobProcess) -> bool:
    """Told by the program, or by the name that torch or Ray gives its process."""
    program = Path(process.words[0]).name if process.words else process.name
    return program.startswith("python") or process.name.startswith(_NAMES_OF_PYTHON)


def _with_role(
    process: JobProcess,
    by_pid: Mapping[int, JobProcess],
    ranks: Mapping[int, Rank],
    outermost: set[int],
    above: set[int],
) -> JobProcess:
    if process.pid in above or is_launcher(process):
        return replace(process, role=ProcessRole.LAUNCHER)
    if process.pid in outermost:
        return replace(
            process,
            role=ProcessRole.RANK,
            rank=ranks[process.pid],
            local_rank=_local_rank(process),
        )
    if any(pid in outermost for pid in _ancestors(process, by_pid)):
        return replace(process, role=ProcessRole.LOADER, rank=ranks.get(process.pid))
    return process


def _ancestors(process: JobProcess, by_pid: Mapping[int, JobProcess]) -> list[int]:
    """Those that are known, the nearest first."""
    found: list[int] = []
    parent = by_pid.get(process.parent)
    while parent is not None and parent.pid not in found:
        found.append(parent.pid)
        parent = by_pid.get(parent.parent)
    return found


def is_launcher(process: JobProcess) -> bool:
    """Told by the program: it may have inherited a rank (`srun torchrun …`)."""
    words = process.words
    if any(Path(word).name in _LAUNCHERS for word in words[:2]):
        return True
    module = next((after for m, after in pairwise(words[:5]) if m == "-m"), "")
    return module.startswith(_LAUNCHER_MODULES)


def _rank(process: JobProcess) -> Rank | None:
    number = _number(process, _RANK_NAMES)
    return None if number is None or is_launcher(process) else Rank(number)


def _local_rank(process: JobProcess) -> LocalRank | None:
    number = _number(process, _LOCAL_NAMES)
    return None if number is None else LocalRank(number)


def _number(process: JobProcess, names: Sequence[str]) -> int | None:
    for name in names:
        value = process.variable(name)
        if value is not None and value.isdigit():
            return int(value)
    return None
