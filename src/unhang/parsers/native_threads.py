"""From gdb's, gstack's and eu-stack's stacks of all threads to stacks.

Reads::

    Attaching to process 4711
    Thread 1 (Thread 0x7f75ecc8ab80 (LWP 4711) "python3"):
    #0  __futex_abstimed_wait_common64 (private=0, …) at ./nptl/futex-internal.c:57
    #6  0x00007f75dbd6984b in c10d::Work::wait(std::chrono::duration<…>) () from /…/libtorch_cpu.so
    #9  0x… in _PyEval_EvalFrameDefault (…) (f=Frame 0x…, for file /…/train.py, line 26, in main ())
    [Inferior 1 (process 4711) detached]
    PID 4711 - process / TID 4712: / #0  0x00007f… ncclGroupEnd                 (eu-stack)
    --- rank 3 (pid 4711) --- / #0  0x00007f… in PMPI_Allreduce () from …        (gdb, one thread)

Frames of the interpreter that tell the Python code they run are said as that code. The number of a
thread is gdb's; thread 1 is the main one, and its LWP is the process. gdb prints it last, so the
stacks of a process are said when it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from unhang import lazy_re as re
from unhang.model.events import Event, Frame, StackKind, ThreadStack
from unhang.model.provenance import Origin, Provenance
from unhang.parsers.base import LineParser, needles
from unhang.parsers.vocabulary import stack_owners
from unhang.sources.line import Line

_THREAD = re.compile(
    r"^\s*Thread (?P<number>\d{1,6}) \((?:Thread 0x[0-9a-f]{1,16} )?\(?(?:LWP|process) "
    r"(?P<tid>\d{1,10})\)?(?: \"(?P<name>[^\"]{0,60})\")?"
)
_TID = re.compile(r"^\s*TID (?P<tid>\d{1,10}):")
_PID = re.compile(
    r"Attaching to (?:program: .{0,300}, )?process (?P<begins>\d{1,10})"
    r"|^PID (?P<listed>\d{1,10}) - |\[Inferior \d{1,3} \(process (?P<ends>\d{1,10})\) detached\]"
)
_FRAME = re.compile(
    r"^\s*#(?P<number>\d{1,4})\s+(?:0x[0-9a-f]{1,16} (?:in )?)?(?P<function>[^\s(]{1,400})"
)
_FIRST_FRAME = re.compile(r"^\s*#0\s")
_LIBRARY = re.compile(r"\bfrom (?P<file>\S{1,300})\s*$|\bat (?P<code>\S{1,300}):(?P<line>\d{1,7})$")
_PYTHON = re.compile(
    r"for file (?P<file>[^,\s]{1,400}), line (?P<line>\d{1,7}), in (?P<function>[\w<>.]{1,120})"
)
_MOST_FRAMES = 400


@dataclass(slots=True)
class _Thread:
    """A thread of the process that is being read; frames innermost first, as printed."""

    number: int | None
    tid: int
    name: str | None
    frames: list[Frame] = field(default_factory=list)
    source: Provenance | None = None


class NativeThreadsParser(
    LineParser,
    name="native-threads",
    needles=(*needles("native-threads"), *stack_owners.NEEDLES[1:]),
    after=200,
):
    """Parser of native stacks of all threads."""

    def __init__(self) -> None:
        self._owner: Origin | None = None
        self._pid: int | None = None
        self._threads: list[_Thread] = []

    def feed(self, line: Line) -> Iterator[Event]:
        """Collect the threads of one process."""
        owner = stack_owners.owner_of(line.text, line.origin)
        if owner is not None:
            yield from self._close()
            self._owner = owner
            return
        process = _PID.search(line.text)
        if process is not None:
            yield from self._process(process)
            return
        thread = _THREAD.match(line.text) or _TID.match(line.text)
        if thread is not None:
            yield from self._begin(thread)
        elif self._threads:
            self._frame(line)
        elif self._owner is not None and _FIRST_FRAME.match(line.text) is not None:
            # `bt` of the thread that the debugger stopped in
            self._threads.append(_Thread(1, self._owner.pid or self._pid or 0, None))
            self._frame(line)

    def finish(self) -> Iterator[Event]:
        """Say the stacks of the last process."""
        yield from self._close()

    def _process(self, found: re.Match[str]) -> Iterator[Event]:
        if found["ends"] is not None:
            self._pid = int(found["ends"])
            yield from self._close()
            return
        yield from self._close()
        self._pid = int(found["begins"] or found["listed"])

    def _begin(self, found: re.Match[str]) -> Iterator[Event]:
        told = found.groupdict()
        number, tid = told.get("number"), int(found["tid"])
        if any(t.tid == tid for t in self._threads):
            yield from self._close()
        self._threads.append(
            _Thread(None if number is None else int(number), tid, told.get("name"))
        )
        self._owner = self._owner or None

    def _frame(self, line: Line) -> None:
        found = _FRAME.match(line.text)
        thread = self._threads[-1]
        if found is None or len(thread.frames) >= _MOST_FRAMES:
            return
        if thread.source is None:
            thread.source = line.provenance()
            if self._owner is None:
                self._owner = line.origin
        thread.frames.append(_read(line.text, found["function"]))

    def _close(self) -> Iterator[Event]:
        threads, pid, owner = self._threads, self._pid, self._owner
        self._threads, self._pid, self._owner = [], None, None
        if pid is None:
            pid = next((t.tid for t in threads if t.number == 1 and t.tid), None)
        if not any(map(_trains, threads)):
            return  # a debugger's session with some other program
        for thread in threads:
            if thread.source is None or owner is None:
                continue
            yield ThreadStack(
                source=thread.source,
                origin=owner if pid is None else replace(owner, pid=pid),
                kind=StackKind.NATIVE,
                frames=tuple(reversed(thread.frames)),
                thread=thread.name,
                tid=thread.tid,
                main=thread.number == 1 or thread.tid == pid,
            )


def _trains(thread: _Thread) -> bool:
    """Whether a thread may be one of a process that trains."""
    words = (thread.name or "", *(word for f in thread.frames for word in (f.file, f.function)))
    return any(stack_owners.trains(word) for word in words)


def _read(text: str, function: str) -> Frame:
    """The frame on a line: Python's code where it is told, else the native function."""
    python = _PYTHON.search(text)
    if python is not None:
        return Frame(file=python["file"], line=int(python["line"]), function=python["function"])
    place = _LIBRARY.search(text)
    if place is None:
        return Frame(file="", line=None, function=function)
    library = (place["file"] or place["code"]).rpartition("/")[2]
    return Frame(file=library, line=None, function=function)
