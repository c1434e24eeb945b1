"""Gathers everything about a live or hung job on this node into one redacted bundle.

Every source of evidence is a file of `specs/`. All are asked at once, each within its limits; what
each gave, refused or did not have stands in the bundle's `manifest.json`.
"""

from __future__ import annotations

import os
import re
import signal as signals
import socket
import time
from collections.abc import Collection, Sequence
from datetime import datetime, timezone
from pathlib import Path

from unhang import __version__
from unhang.capturing.bundle import BundleMember, write_bundle
from unhang.capturing.deadline import Deadline
from unhang.capturing.filing import file_pieces
from unhang.capturing.hosts import names_of
from unhang.capturing.job_on_node import JobOnNode
from unhang.capturing.processes import JobProcess, ProcessRole, find_below, find_run
from unhang.capturing.reading import kept_readers
from unhang.capturing.schedule import ask, questions
from unhang.capturing.specs import SPECS
from unhang.errors import UsageError
from unhang.model.capture import MANIFEST, SUFFIX, CapturedProcess, CaptureResult, Manifest
from unhang.redaction import Pseudonyms, Redactor, Shape, own_shapes

__all__ = ["LIMIT_S", "CaptureResult", "Deadline", "capture"]

LIMIT_S = 20.0
"""Seconds that a capture takes at most, unless the caller says otherwise."""

_COMMAND_LIMIT = 300
_HOST_VARIABLE = "UNHANG_HOST"
_UNFIT = re.compile(r"[^\w.-]")


def capture(
    *,
    pids: Sequence[int] = (),
    run_folder: str | os.PathLike[str] | None = None,
    dumps: Sequence[str | os.PathLike[str]] = (),
    out: str | os.PathLike[str] | None = None,
    limit_s: float = LIMIT_S,
    redact_hosts: bool = False,
    redact_patterns: Sequence[str] = (),
    redact_rules: str | os.PathLike[str] | None = None,
    signal: str | None = None,
    deadline: Deadline | None = None,
    sources: Collection[str] | None = None,
    gentle: bool = False,
) -> CaptureResult:
    """Gather what tells why a job on this node hangs. The job goes on as it was.

    Args:
        pids: launchers or ranks; all processes below them belong to the job.
        run_folder: of `unhang run`; its processes are found by themselves.
        dumps: folders with dumps that the probes were just asked for; else the newest of the run.
        out: the file to write; else one in the working folder, named after the host and the time.
        limit_s: seconds for everything but the writing.
        redact_hosts: replace names of hosts, users, accounts and buckets, addresses and paths by
            pseudonyms, the same on all nodes when UNHANG_REDACT_KEY is.
        redact_patterns: regular expressions of secrets of your own.
        redact_rules: a TOML file of such (or UNHANG_REDACT_RULES names one).
        signal: `USR1` or `USR2`: ranks that have registered `faulthandler` for it are asked to
            print their stacks; it is sent to none that would die of it.
        deadline: somebody waits to end the job; None = it goes on as it was.
        sources: names of the sources that are asked; None = all.
        gentle: no process is stopped for longer than the blink in which its stack is read.

    Raises:
        UsageError: there is nothing to capture, or the bundle cannot be written.
    """
    shapes = own_shapes(redact_patterns, redact_rules)
    begun, until = time.monotonic(), time.monotonic() + limit_s
    at = datetime.now(timezone.utc)
    folder = None if run_folder is None else Path(run_folder)
    with kept_readers():
        processes = _processes(pids, folder)
        job = JobOnNode(
            host=_host(processes),
            processes=processes,
            run_folder=folder,
            dumps=tuple(Path(dump) for dump in dumps),
            signal=_signal(signal),
            deadline=deadline,
            gentle=gentle,
        )
        redactor = _redactor(job, shapes, redact_hosts=redact_hosts)
        specs = [spec for spec in SPECS if sources is None or spec.name in sources]
        asked = questions(specs, job)
        ask(asked, job, until)
    host = redactor.host(job.host)
    members, entries = file_pieces(asked, job.host, redactor)
    manifest = Manifest(
        host=host,
        at=at.isoformat(timespec="milliseconds"),
        limit_s=limit_s,
        seconds=time.monotonic() - begun,
        processes=tuple(_listed(process, redactor) for process in job.processes),
        entries=entries,
        redacted=redactor.counts,
        names_replaced=redact_hosts,
        unhang=__version__,
    )
    path = _path(out, host, at)
    size = write_bundle(path, (BundleMember(MANIFEST, _written(manifest)), *members))
    return CaptureResult(path=path, manifest=manifest, size_bytes=size)


def _processes(pids: Sequence[int], folder: Path | None) -> tuple[JobProcess, ...]:
    if not pids and folder is None:
        raise UsageError(
            "nothing to capture: give a launcher or rank (--pid PID), or a run folder (--run RUN)"
        )
    if folder is not None and not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder; give the one of `unhang run --out`")
    found = {} if folder is None else {p.pid: p for p in find_run(folder)}
    if pids:
        found.update({p.pid: p for p in find_below(pids)})
    return tuple(p for p in found.values() if p.pid != os.getpid())


def _host(processes: Sequence[JobProcess]) -> str:
    """The name of this node, as `unhang run` has it where it started the processes."""
    told = (process.variable(_HOST_VARIABLE) for process in processes)
    name = next((name for name in told if name), None) or socket.gethostname()
    return _UNFIT.sub("-", name)


def _signal(name: str | None) -> int | None:
    allowed = {"USR1": signals.SIGUSR1, "USR2": signals.SIGUSR2}
    if name is None:
        return None
    found = allowed.get(name.upper().removeprefix("SIG"))
    if found is None:
        raise UsageError(f"the signal {name} is not used to ask for stacks; USR1 or USR2 may be")
    return int(found)


def _redactor(job: JobOnNode, shapes: Sequence[Shape], *, redact_hosts: bool) -> Redactor:
    environments = [p.environment for p in job.processes if p.environment is not None]
    environments.append(os.environ)
    if not redact_hosts:
        return Redactor(environments, shapes=shapes)
    hosts, users = names_of(job)
    return Redactor(environments, Pseudonyms.keyed(hosts, users), shapes)


def _listed(process: JobProcess, redactor: Redactor) -> CapturedProcess:
    return CapturedProcess(
        pid=process.pid,
        role=process.role.value,
        rank=process.rank if process.role is ProcessRole.RANK else None,
        command=redactor.text(" ".join(redactor.arguments(process.words)))[:_COMMAND_LIMIT],
    )


def _path(out: str | os.PathLike[str] | None, host: str, at: datetime) -> Path:
    if out is None:
        return Path(f"unhang-{at:%Y%m%d-%H%M%S}-{host}{SUFFIX}")
    path = Path(out)
    if path.is_dir():
        return path / f"unhang-{at:%Y%m%d-%H%M%S}-{host}{SUFFIX}"
    return path


def _written(manifest: Manifest) -> bytes:
    from unhang.reporters.capture import manifest_json

    return manifest_json(manifest).encode()
