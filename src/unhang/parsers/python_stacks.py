"""From dumps of Python's threads to stacks: py-spy, faulthandler, pystack, torch's debug server.

Reads::

    Process 4711: python3 train.py --local_rank=2                              (py-spy)
    Thread 4711 (idle+gil): "MainThread"
        save (torch/serialization.py:944)
        c10d::Work::wait (libtorch_cpu.so)                                     (--native)
    === Rank 3: http://node1:4711 ===                                  (torch's debug server)
    Current thread 0x00007f1b2c [python3] (most recent call first):            (faulthandler)
      Garbage-collecting
      File "/…/torch/serialization.py", line 944 in save
    Stack (most recent call first):                      (faulthandler, the thread that was asked)
    Traceback (most recent call first):                                        (gdb, py-bt)
      <built-in method item of Tensor object at remote 0x7f1a>
    Traceback for thread 4711 (python3) [Has the GIL] (most recent call last): (pystack)
        (Python) File "/…/train.py", line 8, in <module>
            main()
        (C) File "…", line 83, in __futex_abstimed_wait (libc.so.6)

Traps: pystack prints the outermost frame first, all others last, and its `[Garbage collecting]` is
told from names of C++ functions, so it does not count. `Fatal Python error: Aborted` is
followed by the stacks of a process that `abort()` ended, which a watchdog does to those that wait;
after any other fatal error the stack is a crash's. Helper threads always wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from unhang import lazy_re as re
from unhang.model.events import Event, Frame, StackKind, ThreadStack
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.provenance import Origin
from unhang.model.time import Instant
from unhang.parsers.base import LineParser, needles
from unhang.parsers.vocabulary import stack_owners
from unhang.sources.line import Line

_PY_SPY = re.compile(
    r"\bThread (?P<tid>(?:0x)?[0-9A-Fa-f]{1,16}) \((?P<state>active|idle)(?P<gil>\+gil)?"
    r"[^)]{0,20}\)(?::\s*\"(?P<name>[^\"]{0,80})\")?"
)
_FAULTHANDLER = re.compile(
    r"\b(?:(?P<current>Current) thread|Thread) (?P<tid>0x[0-9a-f]{1,16})"
    r"(?: \[(?P<name>[^\]]{0,60})\])? \(most recent call first\)"
)
_ONE_STACK = "Stack (most recent call first)"
_PY_BT = "Traceback (most recent call first)"
_PYSTACK = re.compile(
    r"\bTraceback for thread (?P<tid>\d{1,10})(?: \((?P<name>[^)]{0,80})\))?"
    r"(?P<marks>.{0,120})\(most recent call last\)"
)
_FRAMES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*\((?:Python|C)\) File \"(?P<file>[^\"]{1,400})\", line (?P<line>\d{1,7}), in "
        r"(?P<function>\S{1,300})",
        r"^\s*File \"(?P<file>[^\"]{1,400})\", line (?P<line>\d{1,7}),? in (?P<function>\S{1,200})",
        r"^\s*<built-in method (?P<function>\w{1,80}) of (?P<of>[\w.]{1,80}) object at remote ",
        r"^\s*Binary file \"(?P<file>[^\"]{1,400})\", at (?P<function>[^\s+]{1,200})",
        r"^\s*(?P<function>\S.{0,300}?) \((?P<file>[^()\s:]{1,300})(?::(?P<line>\d{1,7}))?\)"
        r"\s*(?:#.*)?$",
    )
)
_ARGUMENTS = re.compile(r"@{1,2}\w.*|(?<=\w)[(<](?!locals>|module>|lambda>|\w*comp>|genexpr>).*")
"""What stands behind the name of a C++ function."""
_FATAL = re.compile(r"Fatal Python error: (?P<what>.{0,80})")
_COLLECTING = "Garbage-collecting"
_GROUP = re.compile(
    r"^\s+\w{0,20}(?:group|pg|mesh|comm|peers|ranks|members)\w{0,20}: .{0,60}?"
    r"[\[({](?P<ranks>\d{1,5}(?:, ?\d{1,5}){0,1023})[\])}]",
    re.IGNORECASE,
)
_PEER = re.compile(
    r"^\s+(?:(?:next|prev\w*|peer|src|source|dst|dest\w*|from|to|remote)_?(?:rank|stage|peer)?"
    r"|peer\w*): (?P<rank>\d{1,5})$"
)
"""Variables that `--locals` prints below a frame: whom a call needs."""
Marks = tuple[tuple[str, int], ...]
_MOST_FRAMES = 400
_HEAD_LINES = 3
"""Lines above a stack in which its process may be numbered."""
_SHORT = 300
"""Characters of lines that are worth remembering."""


@dataclass(slots=True)
class _OpenStack:
    """A stack that is being read; frames in the order they are printed."""

    owner: Origin
    at: Instant | None
    header: Line
    outermost_first: bool = False
    frames: list[tuple[Frame, Line]] = field(default_factory=list)
    tid: int | None = None
    name: str | None = None
    main: bool | None = None
    idle: bool | None = None
    gil: bool = False
    collecting: bool = False
    aborted: bool = False
    marks: Marks = ()
    group: Ranks = NO_RANKS
    peer: Rank | None = None
    interrupted: bool = False


class PythonStacksParser(
    LineParser,
    name="python-stacks",
    needles=(
        *needles("python-stacks"),
        *stack_owners.NEEDLES,
        _ONE_STACK,
        _PY_BT,
    ),
    after=150,
):
    """Parser of the stacks of Python's threads."""

    def __init__(self) -> None:
        self._owners: dict[Origin, Origin] = {}
        self._heads: dict[Origin, Origin] = {}
        self._just_headed: set[Origin] = set()
        self._open: dict[Origin, _OpenStack] = {}
        self._fatal: dict[Origin, bool] = {}
        self._above: dict[Origin, list[str]] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Say a stack when its last frame has been read."""
        fatal = _FATAL.search(line.text) if "Fatal" in line.text else None
        if fatal is not None:
            self._fatal[line.origin] = fatal["what"].strip().startswith("Aborted")
            yield from self._close(line.origin)
            return
        may_begin = "hread " in line.text or "(most recent call first)" in line.text
        if may_begin and (begun := self._begin(line)) is not None:
            yield from self._close(line.origin)
            self._just_headed.discard(line.origin)
            begun.marks = self._marks(line.origin, begun)
            if self._fatal.get(line.origin) is not False:
                self._open[line.origin] = begun
            return
        owner = stack_owners.owner_of(line.text, line.origin)
        if owner is not None:
            before = self._owners.get(line.origin)
            if owner.rank is None and before is not None and before.pid == owner.pid:
                owner = replace(owner, rank=before.rank)  # the command said whose it is
            yield from self._close(line.origin)
            self._owners[line.origin] = stack_owners.under(self._heads.get(line.origin), owner)
            self._heads[line.origin] = owner
            self._just_headed.add(line.origin)
            self._keep_head(line)
            return
        opened = self._open.get(line.origin)
        if opened is None:
            opened = self._headless(line)
        if opened is None:
            self._keep_head(line)
            return
        if line.gap or not line.text.strip():
            yield from self._close(line.origin)
            return
        if _COLLECTING in line.text and not opened.frames:
            opened.collecting = True
            return
        frame = _frame(line.text) if len(opened.frames) < _MOST_FRAMES else None
        if frame is not None and not (opened.interrupted and frame.line is None):
            opened.frames.append((frame, line))
        elif not line.text[:1].isspace():
            opened.interrupted = True  # another text may have begun: only Python's frames are sure
            self._keep_head(line)
        else:
            _take_variable(opened, line.text)

    def _keep_head(self, line: Line) -> None:
        """Keep a line above a stack, which may tell whose it is."""
        if line.text.strip():
            above = self._above.setdefault(line.origin, [])
            above.append(line.text)
            del above[:-_HEAD_LINES]

    def _marks(self, origin: Origin, begun: _OpenStack) -> Marks:
        """The numbers above the stack of a main thread."""
        above = self._above.pop(origin, [])
        if begun.main is False:
            return ()
        return tuple(mark for text in above for mark in stack_owners.marks_of(text))

    def _begin(self, line: Line) -> _OpenStack | None:
        """The stack that begins at a line, or None."""
        begun = _header(line, self._owners.get(line.origin, line.origin))
        if begun is not None:
            begun.aborted = self._fatal.get(line.origin) is True
        return begun

    def _headless(self, line: Line) -> _OpenStack | None:
        """A stack whose thread nobody names: frames right below the head of a process.

        People cut the thread's line away, or keep only the outermost frames (`| tail -2`).
        """
        if line.origin not in self._just_headed:
            return None
        self._just_headed.remove(line.origin)
        frame = _frame(line.text) if line.text[:1].isspace() and not line.gap else None
        if frame is None or frame.line is None:
            return None
        owner = self._owners[line.origin]
        opened = self._open[line.origin] = _OpenStack(owner, line.at, line, main=True)
        return opened

    def finish(self) -> Iterator[Event]:
        """Say the last stack of each process."""
        for origin in tuple(self._open):
            yield from self._close(origin)

    def _close(self, origin: Origin) -> Iterator[Event]:
        opened = self._open.pop(origin, None)
        if opened is None or not opened.frames:
            return
        frames = opened.frames if opened.outermost_first else opened.frames[::-1]
        yield ThreadStack(
            source=frames[-1][1].provenance(),
            origin=opened.owner,
            at=opened.at,
            kind=StackKind.PYTHON,
            frames=tuple(frame for frame, _ in frames),
            thread=opened.name,
            tid=opened.tid,
            main=opened.main,
            idle=opened.idle,
            gil=opened.gil,
            collecting=opened.collecting,
            aborted=opened.aborted,
            marks=opened.marks,
            group=opened.group,
            peer=opened.peer,
        )


def _take_variable(opened: _OpenStack, text: str) -> None:
    """Take whom a call needs, as a variable of the innermost frame that tells it."""
    group, peer = _GROUP.match(text), _PEER.match(text)
    if group is not None and not opened.group:
        opened.group = frozenset(Rank(int(n)) for n in group["ranks"].split(","))
    if peer is not None and opened.peer is None:
        opened.peer = Rank(int(peer["rank"]))


def _header(line: Line, owner: Origin) -> _OpenStack | None:
    """The stack that begins at a line, or None."""
    found = _PY_SPY.search(line.text)
    if found is not None:
        opened = _OpenStack(owner=owner, at=line.at, header=line)
        opened.idle, opened.gil = found["state"] == "idle", found["gil"] is not None
        return _named(opened, found["tid"], found["name"])
    found = _FAULTHANDLER.search(line.text)
    if found is not None:
        return _named(_OpenStack(owner=owner, at=line.at, header=line), found["tid"], None)
    if _ONE_STACK in line.text or _PY_BT in line.text:
        return _OpenStack(owner=owner, at=line.at, header=line)
    found = _PYSTACK.search(line.text)
    if found is not None:
        opened = _OpenStack(owner=owner, at=line.at, header=line, outermost_first=True)
        opened.gil = "Has the GIL" in found["marks"]
        return _named(opened, found["tid"], None)
    return None


def _named(opened: _OpenStack, tid: str, name: str | None) -> _OpenStack:
    """Add who the thread is; Python's own name for it tells whether it is the main one."""
    opened.tid = int(tid) if tid.isdigit() else int(tid, 16)
    opened.name = name
    if name is not None:
        opened.main = name == "MainThread"
    if opened.tid == opened.owner.pid:
        opened.main = True
    elif (
        opened.main and tid.isdigit() and opened.owner.pid is None
    ):  # Linux numbers the main thread as its process
        opened.owner = replace(opened.owner, pid=opened.tid)
    return opened


def _frame(text: str) -> Frame | None:
    """The frame on a line, or None."""
    return _short_frame(text) if len(text) <= _SHORT else _find_frame(text)


@lru_cache(maxsize=10_000)
def _short_frame(text: str) -> Frame | None:
    """The same for a short line; the stacks of all ranks together hold few different ones."""
    return _find_frame(text)


def _find_frame(text: str) -> Frame | None:
    for pattern in _FRAMES:
        match = pattern.search(text)
        if match is not None:
            line = match.groupdict().get("line")
            if "of" in match.groupdict():  # a method that is not Python's has no file
                return Frame(file="", line=None, function=f"{match['of']}::{match['function']}")
            return Frame(
                file=match["file"],
                line=None if line is None else int(line),
                function=_ARGUMENTS.sub("", match["function"]),
            )
    return None
