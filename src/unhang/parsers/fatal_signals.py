"""From a dying process, and from the shell below it, to the signal that ended it.

Reads::

    Fatal Python error: Segmentation fault
    terminate called after throwing an instance of 'std::bad_alloc'
    [node07:4711:0:4711] Caught signal 11 (Segmentation fault: address not mapped to object …)
    *** SIGSEGV (@0x0) received by PID 4711 (TID 0x7f…) from PID 0; stack trace: ***
    /bin/bash: line 1: 4711 Killed                  python train.py
    Segmentation fault (core dumped)

Traps: UCX's `[host:pid:0:pid]` holds no rank; `terminate called … 'c10::DistBackendError'` is a
watchdog's way to end its process, and other exceptions of c10 and Gloo carry an error that is
printed beside them, so they are left to the parsers of these errors; `std::bad_alloc` is a lack of
memory; `terminate called without an active exception` is a thread that outlived its interpreter,
so noise of an exit; `Terminated` is a stop from outside, not a crash; SGLang's parent kills its
whole tree, itself too, after `Received sigquit from a child process`: the shell's `Killed` is then
no news.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, ProcessEnded, Reporter
from unhang.model.forms import named
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.numbers import whole
from unhang.parsers.vocabulary.signals import SIGNAL_WORDS, signal_number
from unhang.sources.line import Line

_FATAL = re.compile(r"Fatal Python error: (?P<what>[\w -]{1,60})")
_TERMINATE = re.compile(r"terminate called after throwing an instance of '(?P<what>[\w:]{1,120})")
_PATTERNS = named("unhang.parsers", "data/fatal_signals.toml")
_CAUGHT = _PATTERNS["caught"]
_GLOG = re.compile(r"\*\*\* (?P<signal>SIG[A-Z]+) \(@\S+\) received by PID (?P<pid>\d{1,10})")
_ABSEIL = re.compile(r"\*\*\* (?P<signal>SIG[A-Z]+) received at time=")
_OPEN_MPI = _PATTERNS["open_mpi"]
_DEBUGGER = re.compile(r"interrupted by signal (?P<signal>\d{1,3}): SIG")
_HEAP = _PATTERNS["heap"]
_SHELL = re.compile(
    r"(?:(?:[\w./-]{1,200}: )?line \d+:|\[\d+\][+-]?)\s+(?P<pid>\d{1,10})?\s*"
    rf"(?P<word>{SIGNAL_WORDS})"
    r"(?:\s{2,}|\s*\(core dumped\)|\s*$)"
)
_BARE = re.compile(
    rf"^\s*(?:(?P<dumped>{SIGNAL_WORDS})\s*\(core dumped\).*|"
    r"(?P<word>Killed|Segmentation fault|Bus error))\s*$"
)
_KILLS_ITS_TREE = re.compile(r"sigquit from a child|SIGQUIT received\.", re.IGNORECASE)
_CARRIERS = ("c10::", "gloo::", "torch::")
_OUTSIDE = frozenset({1, 2, 15})
_ABORT = 6
_KILL = 9


class FatalSignalsParser(LineParser, name="fatal-signals", after=60):
    """Parser of last words."""

    def __init__(self) -> None:
        self._tree_killed = False
        self._bus_error: ProcessEnded | None = None
        self._in_current = False

    def feed(self, line: Line) -> Iterator[Event]:
        """Say by which signal a process ended."""
        self._tree_killed = self._tree_killed or _KILLS_ITS_TREE.search(line.text) is not None
        for event in _spoken(line):
            if event.signal == _BUS and "Fatal Python error" in line.text:
                yield from self.finish()
                self._bus_error = event
            else:
                yield event
        yield from self._stack_of_bus_error(line)
        for ended in _shell(line):
            if not (self._tree_killed and ended.signal == _KILL):
                yield ended

    def finish(self) -> Iterator[Event]:
        """A stack that never came tells nothing."""
        if self._bus_error is not None:
            yield self._bus_error
        self._bus_error, self._in_current = None, False

    def _stack_of_bus_error(self, line: Line) -> Iterator[Event]:
        """Whose page it was: below the thread that failed stands its innermost frame."""
        if self._bus_error is None:
            return
        if line.text.startswith("Current thread 0x"):
            self._in_current = True
        elif self._in_current and (frame := _FRAME.match(line.text)) is not None:
            in_program = _HANDS_OVER.search(frame["file"]) is None
            self._bus_error = replace(self._bus_error, in_program=in_program)
            yield from self.finish()


_FRAME = re.compile(r'\s*File "(?P<file>[^"]{1,400})", line \d')
_HANDS_OVER = re.compile(
    r"multiprocessing|torch[/\\](?:utils[/\\]data|storage|cuda|distributed|_utils)|/shm\b"
)
"""Code that touches shared memory."""
_BUS = 7


def _spoken(line: Line) -> Iterator[ProcessEnded]:
    """Last words of the process itself, of its libraries or their signal handlers."""
    fatal = line.says(_FATAL)
    if fatal is not None:
        number = signal_number(fatal["what"].replace("-", " "))
        yield _ended(line, number=_ABORT if number is None else number)
    thrown = line.says(_TERMINATE)
    if thrown is not None and not thrown["what"].startswith(_CARRIERS):
        yield _ended(line, number=_ABORT, oom=thrown["what"] == "std::bad_alloc")
    for pattern in (_CAUGHT, _GLOG, _ABSEIL, _OPEN_MPI, _DEBUGGER):
        for match in line.sayings(pattern):
            number = signal_number(match["signal"])
            if number is not None and number not in _OUTSIDE:
                named = match.groupdict()
                yield _ended(line, number=number, pid=named.get("pid"), host=named.get("host"))
    if line.says(_HEAP):
        yield _ended(line, number=_ABORT)


def _shell(line: Line) -> Iterator[ProcessEnded]:
    """What bash says of the command it ran."""
    match = line.says(_SHELL)
    if match is not None:
        yield from _by_shell(line, match["word"], match["pid"])
        return
    bare = _BARE.match(line.text)
    if bare is not None:
        yield from _by_shell(line, bare["dumped"] or bare["word"], None)


def _by_shell(line: Line, word: str, pid: str | None) -> Iterator[ProcessEnded]:
    number = signal_number(word)
    if number is not None and number not in _OUTSIDE:
        yield _ended(line, number=number, pid=pid, reporter=Reporter.SHELL)


def _ended(
    line: Line,
    *,
    number: int,
    pid: str | None = None,
    host: str | None = None,
    reporter: Reporter = Reporter.SELF,
    oom: bool = False,
) -> ProcessEnded:
    return ProcessEnded(
        **place(line),
        reporter=reporter,
        rank=line.origin.rank if reporter is Reporter.SELF else None,
        local_rank=line.origin.local_rank if reporter is Reporter.SELF else None,
        pid=line.origin.pid if pid is None and reporter is Reporter.SELF else whole(pid),
        host=host,
        signal=number,
        oom=oom,
    )
