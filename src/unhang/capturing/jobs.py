"""The torch jobs that run on this host: by a process, a scheduler's number, a container, or all."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unhang.capturing.bounded import find_program, run
from unhang.capturing.processes import JobProcess, ProcessRole, find_all, find_below, is_launcher
from unhang.errors import UsageError
from unhang.model.ids import NO_RANKS, Ranks

_PROC = Path("/proc")
_MEETING = ("SLURM_JOB_ID", "SLURM_STEP_ID", "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")
"""What ranks of one job have in common where no launcher on this host is above all of them."""
_ENGINES = ("docker", "podman", "nerdctl")
_ENGINE_S = 5.0
_CONTAINER = re.compile(r"[0-9a-f]{12,64}")
_COMMAND_LIMIT = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A job, as far as it runs on this host.

    Attributes:
        pids: the processes above all others: a launcher, or ranks that something else started.
        ranks: that run here.
        world_size: of the job, where its environment tells.
        command: of the first of them.
        since_s: for how long the first of them has run.
    """

    pids: tuple[int, ...]
    ranks: Ranks = NO_RANKS
    world_size: int | None = None
    command: str = ""
    since_s: float = 0.0


def running_jobs(proc: Path = _PROC) -> tuple[RunningJob, ...]:
    """Return the jobs of this user on this host that have ranks, the newest first."""
    processes = find_all(proc)
    by_pid = {process.pid: process for process in processes}
    found: dict[tuple[object, ...], list[JobProcess]] = {}
    for rank in (p for p in processes if p.role is ProcessRole.RANK):
        found.setdefault(_job_of(rank, by_pid), []).append(rank)
    jobs = [_job(ranks, by_pid) for ranks in found.values()]
    return tuple(sorted(jobs, key=lambda job: job.since_s))


def job_of_process(pid: int, proc: Path = _PROC) -> RunningJob:
    """The job that a process belongs to: a launcher, a rank, or anything below one.

    Raises:
        UsageError: there is no such process, or it belongs to another user.
    """
    find_below([pid], proc)  # says what is wrong with the number
    if not os.access(proc / str(pid) / "environ", os.R_OK):
        raise UsageError(
            f"process {pid} belongs to another user: run this as that user, or as root"
            f" (`sudo -E unhang diagnose --pid {pid}`)"
        )
    by_pid = {process.pid: process for process in find_all(proc)}
    above = _above(by_pid[pid], by_pid) if pid in by_pid else []
    chain = [p for p in above if is_launcher(p) or p.role is ProcessRole.RANK]
    top = chain[-1].pid if chain else pid
    below = {process.pid for process in find_below([top], proc)}
    for job in running_jobs(proc):
        if below & set(job.pids):
            return job
    return RunningJob(pids=(top,))


def job_of_scheduler(number: str, proc: Path = _PROC) -> RunningJob:
    """The part of a Slurm job that runs on this host.

    Raises:
        UsageError: none of its processes is here, or none may be read.
    """
    mine = [p for p in find_all(proc) if p.variable("SLURM_JOB_ID") == number]
    if not mine:
        raise UsageError(
            f"no process of Slurm job {number} runs on this host under this user; on all its hosts:"
            f" `srun --jobid={number} --overlap --ntasks-per-node=1 unhang capture --job {number}"
            " --out /shared/folder`, and then `unhang diagnose /shared/folder`"
        )
    return _within(mine)


def job_in_container(name: str, proc: Path = _PROC) -> RunningJob:
    """The job that runs in a container.

    Args:
        name: as docker, podman or nerdctl have it, or its id of 12 digits or more.
        proc: where the system shows its processes.

    Raises:
        UsageError: there is no such container here, or its processes may not be read.
    """
    pid = _first_process(name)
    if pid is not None:
        return _within(find_below([pid], proc))
    if _CONTAINER.fullmatch(name):
        inside = [p for p in find_all(proc) if name in _read(proc / str(p.pid) / "cgroup")]
        if inside:
            return _within(inside)
    raise UsageError(
        f"no container {name!r} is found on this host by {', '.join(_ENGINES)} or in the control"
        " groups of this user's processes; run as root, or inside:"
        f" `docker exec {name} unhang diagnose --pid PID`"
    )


def _within(processes: Sequence[JobProcess]) -> RunningJob:
    by_pid = {process.pid: process for process in processes}
    ranks = [p for p in processes if p.role is ProcessRole.RANK]
    if ranks:
        return _job(ranks, by_pid)
    tops = tuple(p.pid for p in processes if p.parent not in by_pid)
    return RunningJob(pids=tops)


def _job(ranks: Sequence[JobProcess], by_pid: Mapping[int, JobProcess]) -> RunningJob:
    tops = {_top(rank, by_pid).pid: _top(rank, by_pid) for rank in ranks}
    first = min(tops.values(), key=lambda process: process.started_s)
    sizes = [size for p in ranks if (size := p.variable("WORLD_SIZE")) and size.isdigit()]
    return RunningJob(
        pids=tuple(sorted(tops)),
        ranks=frozenset(p.rank for p in ranks if p.rank is not None),
        world_size=int(sizes[0]) if sizes else None,
        command=" ".join(first.words)[:_COMMAND_LIMIT],
        since_s=max(0.0, time.time() - first.started_s),
    )


def _job_of(rank: JobProcess, by_pid: Mapping[int, JobProcess]) -> tuple[object, ...]:
    """What tells jobs apart: a launcher, or where their ranks meet."""
    top = _top(rank, by_pid)
    if top.pid != rank.pid:
        return (top.pid,)
    met = tuple(rank.variable(name) for name in _MEETING)
    return met if any(met) else (rank.pid,)


def _top(rank: JobProcess, by_pid: Mapping[int, JobProcess]) -> JobProcess:
    """The outermost launcher above a rank, else the rank itself."""
    launchers = [p for p in _above(rank, by_pid) if is_launcher(p)]
    return launchers[-1] if launchers else rank


def _above(process: JobProcess, by_pid: Mapping[int, JobProcess]) -> list[JobProcess]:
    """It, and what it descends from, the nearest first."""
    found = [process]
    parent = by_pid.get(process.parent)
    while parent is not None and parent not in found:
        found.append(parent)
        parent = by_pid.get(parent.parent)
    return found


def _first_process(name: str) -> int | None:
    for engine in _ENGINES:
        program = find_program(engine)
        if program is None:
            continue
        words = (program, "inspect", "--format", "{{.State.Pid}}", name)
        told = run(words, limit_s=_ENGINE_S, limit_bytes=4_096).out.decode(errors="replace").strip()
        if told.isdigit() and int(told) > 0:
            return int(told)
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
