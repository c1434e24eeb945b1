"""`unhang diagnose` of jobs that run now: which one, a look at it, and what was seen by the way."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from unhang.commands.output import locale_language
from unhang.commands.progress import passing_line
from unhang.errors import UsageError
from unhang.model.ids import format_ranks
from unhang.model.provenance import Message

if TYPE_CHECKING:
    from unhang.capturing.jobs import RunningJob
    from unhang.capturing.running import RunningVerdict
    from unhang.model.diagnosis import Diagnosis


def find_job(pid: int | None, job: str | None, container: str | None) -> RunningJob:
    """The job that the options name.

    Raises:
        UsageError: there is none, or more than one is named.
    """
    from unhang.capturing.jobs import job_in_container, job_of_process, job_of_scheduler
    from unhang.capturing.running import load_judge

    if sum(option is not None for option in (pid, job, container)) > 1:
        raise UsageError("give one of --pid, --job and --container")
    load_judge()
    if pid is not None:
        return job_of_process(pid)
    if job is not None:
        return job_of_scheduler(job)
    assert container is not None
    return job_in_container(container)


def look(
    job: RunningJob, *, framework: str | None, model: str | None, lang: str | None
) -> Diagnosis:
    """Judge a job that runs; what was seen by the way goes to standard error."""
    from unhang.capturing.running import diagnose_running
    from unhang.reporters.catalogue import write

    language = lang or locale_language()
    values = {"ranks": job.ranks, "pid": job.pids[0]}
    begins = Message(key="running.looks" if job.ranks else "running.looks_pid", values=values)
    with _ended_like_ctrl_c(), passing_line(write(begins, language)):
        verdict = diagnose_running(job, framework=framework, model=model)
    for message in _remarks(verdict, language):
        sys.stderr.write(f"unhang: {write(message, language)}\n")
    return verdict.diagnosis


@contextmanager
def _ended_like_ctrl_c() -> Iterator[None]:
    """Who is told to end (`timeout 5 unhang diagnose …`) removes its files first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def list_jobs(lang: str | None) -> str:
    """The jobs of this user on this host, a line each, and what to do with them."""
    from unhang.capturing.jobs import running_jobs
    from unhang.reporters.catalogue import write

    language = lang or locale_language()
    jobs = running_jobs()
    if not jobs:
        return write(Message(key="running.none"), language)
    lines = [write(Message(key="running.jobs", values={"count": len(jobs)}), language)]
    for job in jobs:
        values = {
            "pid": job.pids[0],
            "ranks": job.ranks,
            "size": job.world_size,
            "since": round(job.since_s),
            "command": job.command,
        }
        lines.append(write(Message(key="running.job", values=values), language))
    return "\n".join(lines)


def _remarks(verdict: RunningVerdict, language: str) -> list[Message]:
    from unhang.reporters.catalogue import write

    job = verdict.job
    values = {"ranks": job.ranks, "pid": job.pids[0], "took": round(verdict.took_s, 1)}
    told = [Message(key="running.looked" if job.ranks else "running.looked_pid", values=values)]
    if verdict.quiet_s is not None:
        told.append(Message(key="running.quiet", values={"quiet": round(verdict.quiet_s)}))
    elsewhere = (job.world_size or 0) - len(job.ranks)
    if job.ranks and elsewhere > 0:
        count = {"count": elsewhere, "here": format_ranks(job.ranks), "pid": job.pids[0]}
        told.append(Message(key="running.elsewhere", values=count))
    for why in verdict.lacks[:3]:
        if why.key == "capture.why.not_installed":
            told.append(Message(key="running.no_py_spy"))
        else:
            lack = {"ranks": verdict.without, "why": write(why, language)}
            key = "running.lack" if verdict.without else "running.lack_unnamed"
            told.append(Message(key=key, values=lack))
    return told
