"""Stacks of the threads of each rank, Python's and native ones: py-spy, else pystack, else gdb.

A launcher is looked at only where it has no rank yet. Where the job is about to be ended, each rank
is looked at once, and only suspects with native frames, which take seconds.

Each of them stops the process for the blink that it reads. One that was killed at it may leave the
process stopped: it is set going again, and only if it was going before. A process that was stopped,
or that waits in the kernel for good, is read by py-spy from its memory, without touching it.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unhang.capturing.bounded import Ran
from unhang.capturing.processes import JobProcess
from unhang.capturing.source_context import SourceContext, Stop, absent, failure, refused
from unhang.capturing.spec import About, Piece, Spec
from unhang.model.capture import Fate

_STACK = re.compile(rb"^(?:Thread |Traceback for thread |#0 )", re.MULTILINE)
_DENIED = ("permission denied", "operation not permitted", "ptrace", "could not attach")
_GDB = (
    *("-batch", "-nx", "-ex", "set pagination off", "-ex", "set debuginfod enabled off"),
    *("-ex", "set auto-load off", "-ex", "thread apply all backtrace 100"),
)
_MOST_LOADERS = 8
_PLAIN_S, _NATIVE_S = 4.0, 10.0
_LOOKS, _BETWEEN_S = 3, 0.8
"""Who stands at one line at every look is stuck, or works there for long."""
_GENTLE_LOOKS, _GENTLE_S = 2, 2.0
_SETTLE_S = 0.05
_UNTOUCHED = frozenset("DTt")
"""States in which a process waits in the kernel for good, or was stopped by somebody."""
_PROC = Path("/proc")


def gather(context: SourceContext) -> Iterator[Piece]:
    """Try the tools, the gentlest first."""
    process = context.process
    assert process is not None
    state = _state(process.pid, _PROC)
    if state in _UNTOUCHED:
        yield from _from_memory(context, process, state)
        return
    if context.job.gentle:
        yield from _gently(context, process)
        return
    missing: list[Stop] = []
    tools = (_py_spy, _pystack, _gdb) if _is_suspect(context, process) else (_py_spy, _pystack)
    for tool in tools:
        try:
            yield from tool(context, process)
        except Stop as stop:  # noqa: PERF203 (each may be missing)
            missing.append(stop)
        else:
            return
    # A refusal says more than that another tool is not installed.
    raise min(missing, key=lambda stop: stop.fate is Fate.ABSENT)


def _is_suspect(context: SourceContext, process: JobProcess) -> bool:
    """Whether native frames, all that gdb gives, are worth their time."""
    suspects = None if context.job.deadline is None else context.job.deadline.suspects
    return suspects is None or process.rank is None or process.rank in suspects


def _from_memory(context: SourceContext, process: JobProcess, state: str) -> Iterator[Piece]:
    """Without a tracer: it would wait for a process in state D, and set a stopped one going."""
    ran = context.run(
        "py-spy", "dump", "--nonblocking", "--pid", str(process.pid), limit_s=_PLAIN_S
    )
    if not _is_stack(ran):
        raise refused("uninterruptible" if state == "D" else "stopped", pid=process.pid)
    yield Piece(name="stacks.txt", data=ran.out)


def _gently(context: SourceContext, process: JobProcess) -> Iterator[Piece]:
    """Two looks some seconds apart, from memory; where a stack moves too fast for that, a blink."""
    context.program("py-spy")
    words = ("py-spy", "dump", "--pid", str(process.pid))
    texts, ran, begun = [], None, time.monotonic()
    for look in range(_GENTLE_LOOKS):
        if look:  # where cores are scarce the first look has taken a part of that time
            context.pause(max(0.0, begun + _GENTLE_S - time.monotonic()))
        ran = context.run(*words, "--nonblocking", limit_s=_PLAIN_S)
        if not _is_stack(ran):
            ran = _traced(context, process, *words, limit_s=_PLAIN_S)
        if _is_stack(ran):
            texts.append(ran.out)
    if not texts:
        assert ran is not None
        raise _failed("py-spy", ran, context)
    yield Piece(name="stacks.txt", data=b"\n".join(texts))


def _py_spy(context: SourceContext, process: JobProcess) -> Iterator[Piece]:
    """All of one rank in one file: some quick looks, and one with native frames."""
    context.program("py-spy")
    texts = []
    for loader in context.job.loaders_of(process)[:_MOST_LOADERS]:
        ran = _traced(context, loader, "py-spy", "dump", "--pid", str(loader.pid), limit_s=_PLAIN_S)
        if _is_stack(ran):
            texts.append(ran.out)
    words = ("py-spy", "dump", "--pid", str(process.pid))
    for look in range(_LOOKS if context.job.deadline is None else 1):
        if look:
            context.pause(_BETWEEN_S)
        plain = _traced(context, process, *words, limit_s=_PLAIN_S)
        if not _is_stack(plain):
            raise _failed("py-spy", plain, context)
        texts.append(plain.out)
    if _is_suspect(context, process):
        native = _traced(context, process, *words, "--native", limit_s=_NATIVE_S)
        if _is_stack(native):
            texts.append(native.out)
    yield Piece(name="stacks.txt", data=b"\n".join(texts))


def _pystack(context: SourceContext, process: JobProcess) -> Iterator[Piece]:
    context.program("pystack")
    pid = str(process.pid)
    ran = None
    if _is_suspect(context, process):
        ran = _traced(context, process, "pystack", "remote", "--native", pid, limit_s=_NATIVE_S)
    if ran is None or not _is_stack(ran):
        ran = _traced(context, process, "pystack", "remote", pid, limit_s=_PLAIN_S)
    if not _is_stack(ran):
        raise _failed("pystack", ran, context)
    yield Piece(name="stacks.txt", data=ran.out)


def _gdb(context: SourceContext, process: JobProcess) -> Iterator[Piece]:
    context.program("gdb")
    ran = _traced(context, process, "gdb", "-p", str(process.pid), *_GDB)
    if not _is_stack(ran):
        raise _failed("gdb", ran, context)
    head = f"Attaching to process {process.pid}\n".encode()
    yield Piece(name="gdb.txt", data=head + ran.out, cut=ran.timed_out or ran.cut)


def _traced(
    context: SourceContext,
    process: JobProcess,
    name: str,
    *words: str,
    limit_s: float | None = None,
) -> Ran:
    """Run a tool that stops the process while it looks at it."""
    with going_on(process.pid):
        return context.run(name, *words, limit_s=limit_s)


@contextmanager
def going_on(pid: int, proc: Path = _PROC) -> Iterator[None]:
    """Set a process going again that a tool left stopped; one that was stopped before stays so."""
    was_stopped = _is_stopped(pid, proc)
    try:
        yield
    finally:
        if not was_stopped and _is_stopped(pid, proc):
            time.sleep(_SETTLE_S)
            if _is_stopped(pid, proc):
                os.kill(pid, signal.SIGCONT)


def _is_stopped(pid: int, proc: Path) -> bool:
    """Stopped as by SIGSTOP, by no tracer that is still at work."""
    return _state(pid, proc) == "T"


def _state(pid: int, proc: Path) -> str:
    """Of the main thread, as `/proc` has it; "" for one that has ended."""
    try:
        stat = (proc / str(pid) / "stat").read_text(errors="replace")
        return stat.rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def _is_stack(ran: Ran) -> bool:
    return _STACK.search(ran.out) is not None


def _failed(name: str, ran: Ran, context: SourceContext) -> Stop:
    assert context.process is not None
    if not Path(f"/proc/{context.process.pid}").exists():
        return absent("ended", pid=context.process.pid)
    if any(mark in ran.err.lower() for mark in _DENIED):
        return refused("ptrace", program=name)
    return failure(name, ran, context)


SPEC = Spec(
    name="stacks", about=About.RANK, gather=gather, limit_s=15.0, limit_bytes=8 << 20, order=2
)
