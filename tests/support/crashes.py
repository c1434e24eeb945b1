"""Builders of failures, stops and signs of work, for tests of the rules that weigh them."""

from __future__ import annotations

from support.builders import at, by, source
from unhang.model.events import (
    ClosingSignal,
    DeviceFault,
    DeviceProblem,
    ExceptionKind,
    Frame,
    KernelEvent,
    KernelProblem,
    ProcessEnded,
    Progress,
    PythonException,
    Reporter,
    StopKind,
    StopSeen,
    StoreFault,
    StoreProblem,
)
from unhang.model.ids import Rank
from unhang.model.time import Instant


def _when(seconds: float | None) -> Instant | None:
    return None if seconds is None else at(seconds)


def raised(
    rank: int | None = None,
    name: str = "ValueError",
    *,
    kind: ExceptionKind = ExceptionKind.USER,
    when: float | None = None,
    line: int = 1,
    thread: str | None = None,
    handled: bool = False,
    artifact: str = "job.log",
    innermost: str | None = None,
) -> PythonException:
    """A traceback of a rank, or of nobody."""
    return PythonException(
        source=source(line, artifact),
        origin=by(rank),
        at=_when(when),
        kind=kind,
        exception=name,
        message="bad" if name else "",
        frames=() if innermost is None else (Frame(file=innermost, line=1, function="f"),),
        thread=thread,
        handled=handled,
    )


def stopped(
    kind: StopKind = StopKind.INTERRUPT, *, when: float | None = None, line: int = 1
) -> StopSeen:
    """A sign of a stop."""
    return StopSeen(source=source(line), origin=by(), at=_when(when), kind=kind)


def work(
    done: int,
    *,
    when: float | None = None,
    line: int = 1,
    total: int = 1000,
    rank: int | None = None,
) -> Progress:
    """A state of a bar."""
    return Progress(
        source=source(line), origin=by(rank), at=_when(when), label="train", done=done, total=total
    )


def closing(pid: int, *, line: int = 1) -> ClosingSignal:
    """The launcher closes a process."""
    return ClosingSignal(source=source(line), origin=by(), pid=pid, signal=15)


def gone(
    rank: int | None = None,
    *,
    signal: int | None = None,
    exit_code: int | None = None,
    reporter: Reporter = Reporter.ELASTIC_TABLE,
    oom: bool = False,
    worker: bool = False,
    pid: int | None = None,
    line: int = 1,
    when: float | None = None,
) -> ProcessEnded:
    """A process ended, as somebody reports it."""
    return ProcessEnded(
        source=source(line, text=f"line {line}"),
        origin=by(rank) if reporter is Reporter.SELF else by(),
        at=_when(when),
        reporter=reporter,
        rank=None if rank is None else Rank(rank),
        signal=signal,
        exit_code=exit_code,
        oom=oom,
        worker=worker,
        pid=pid,
    )


def killed_by_kernel(
    pid: int, process: str = "python", *, line: int = 1, when: float | None = None
) -> KernelEvent:
    """The kernel's out-of-memory kill."""
    return KernelEvent(
        source=source(line, "dmesg.log"),
        origin=by(),
        at=_when(when),
        problem=KernelProblem.OOM_KILL,
        pid=pid,
        process=process,
    )


def device_fault(rank: int, *, line: int = 1, when: float | None = None) -> DeviceFault:
    """A CUDA error of a rank."""
    return DeviceFault(
        source=source(line),
        origin=by(rank),
        at=_when(when),
        problem=DeviceProblem.ILLEGAL_ACCESS,
    )


def store(
    problem: StoreProblem,
    *,
    line: int = 1,
    when: float | None = None,
    rank: int | None = None,
    waiter: int | None = None,
    owner: int | None = None,
    host: str | None = None,
    port: int | None = None,
    joined: int | None = None,
    expected: int | None = None,
) -> StoreFault:
    """Trouble at the store."""
    return StoreFault(
        source=source(line),
        origin=by(rank),
        at=_when(when),
        problem=problem,
        waiter=None if waiter is None else Rank(waiter),
        owner=None if owner is None else Rank(owner),
        host=host,
        port=port,
        joined=joined,
        expected=expected,
    )
