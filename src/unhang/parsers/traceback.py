"""From Python tracebacks, whole, interleaved or cut, to exceptions with their meaning.

Reads::

    [rank1]: Traceback (most recent call last):
    [rank1]:   File "train.py", line 52, in <module>
    [rank1]:     main()
    [rank1]: ValueError: too many values to unpack (expected 2)

and the forms that wrap it: `Exception in thread Thread-3 (_feed):`, `Process SpawnProcess-3:`,
`-- Process 3 terminated with the following error:` (mp.spawn), `ray::Worker.step() (pid=830,
ip=…)`, `Original Traceback` (a data loader's worker), exception groups (`  | ValueError: x`), rich
boxes, loggers that repeat their prefix on every line, torchrun's table (`traceback : Traceback …`).

Traps: ranks without a mark interleave line by line, so several tracebacks may be open in one
stream and words may be glued (`FileNotFoundErrorFileNotFoundError: : …`); `SpawnProcess-3` and
`DataLoader worker process 7` are no ranks; an exception in a thread leaves the process alive;
`Exception ignored in` and tracebacks that a logger prints as a warning did not end anything; a
dump of threads by faulthandler has frames but no exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from unhang.model.events import Event, ExceptionKind, Frame, PythonException
from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import TEXT_LIMIT, Origin
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary import python_text as text_of
from unhang.parsers.vocabulary.exceptions import classify_exception
from unhang.parsers.vocabulary.survivors import feeder_thread, goes_on
from unhang.sources.context import OTHERS, begins_message
from unhang.sources.line import Line

_KEPT_FRAMES = 60
_PATIENCE = 40
"""Lines without any sign of a traceback after which an open one counts as cut."""
_BLANKS = 3
"""How many lines further on, at most, stands what chains a traceback to the one above."""


@dataclass(slots=True)
class _OpenTraceback:
    """A traceback whose last line has not come yet."""

    first: Line
    explicit: bool
    prefix: str = ""
    thread: str | None = None
    process: str | None = None
    worker: str | None = None
    handled: bool = False
    origin: Origin | None = None


@dataclass(slots=True)
class _Context:
    """What the lines above say about the next traceback."""

    thread: str | None = None
    process: str | None = None
    worker: str | None = None
    handled: bool = False
    origin: Origin | None = None


@dataclass(slots=True)
class _Stream:
    """The text of one printer."""

    open: list[_OpenTraceback] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    context: _Context = field(default_factory=_Context)
    pending: PythonException | None = None
    idle: int = 0
    stack_only: bool = False
    crowded: bool = False
    """Several tracebacks were open at once: frames cannot be told apart."""
    wants_message: bool = False
    """The last line ended in a colon: the message is on the next one."""
    echoes: bool = False
    """The next exception was raised while that of a failed collective was handled."""
    chains: bool = False
    """A line says that the next traceback is of the same process."""

    def may_chain(self, text: str) -> bool:
        """Whether a line goes on with what the last traceback began."""
        if not text.strip():
            return self.chains or self.pending is not None
        if self.chains:
            return text_of.HEADER.match(text) is not None
        return self.pending is not None and text_of.CHAINED.search(text) is not None


class TracebackParser(LineParser, name="traceback", after=24):
    """Parser of Python tracebacks."""

    def __init__(self) -> None:
        self._streams: dict[Origin, _Stream] = {}
        self._heading: tuple[int, _Stream, Origin] | None = None
        self._table: tuple[Rank, LocalRank] | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Take one line and say the exceptions that it completes."""
        if line.gap:
            yield from self.finish()
        row = text_of.TABLE_RANK.search(line.text)
        if row is not None:
            self._table = Rank(int(row["rank"][:9])), LocalRank(int(row["local"][:9]))
        own = self._streams.setdefault(replace(line.origin, repeated=0), _Stream())
        stream = self._continued(own, line)
        yield from self._step(stream, line)
        if stream.open:
            self._heading = line.number, stream, stream.open[-1].first.origin
        elif stream is not own or (self._heading is not None and self._heading[1] is stream):
            assert self._heading is not None
            self._heading = line.number, stream, self._heading[2]

    def _continued(self, own: _Stream, line: Line) -> _Stream:
        """The stream that a line belongs to: a logger marks only the first line of a traceback.

        That holds for what chains it to another one, too.
        """
        if self._heading is None or own.open:
            return own
        number, headed, marked = self._heading
        if line.number - number > (1 if headed.open else _BLANKS):
            return own
        if not (headed.open or headed.may_chain(line.text)):
            return own
        return headed if _is_unmarked(line.origin, marked) else own

    def finish(self) -> Iterator[Event]:
        """Say what waits for a follow-up, and the tracebacks whose last line is lost."""
        for stream in self._streams.values():
            yield from _flush(stream)
            yield from _cut(stream)
        self._streams.clear()

    def _step(self, stream: _Stream, line: Line) -> Iterator[Event]:
        text = line.text
        header = text_of.HEADER.match(text) if "Traceback" in text else None
        if header is not None and (
            not _is_own(header["before"]) or text_of.SHOWN.match(text, header.end())
        ):
            return  # an escaped string of torchelastic's error file, or what somebody shows
        if header is not None:
            yield from self._begin(stream, line, header["before"], header["original"] is not None)
            return
        frame = text_of.read_frame(text)
        if frame is not None:
            _unwrap(stream)  # whose head may be lost
            yield from _add_frame(stream, line, *frame)
            return
        if text_of.CHAINED.search(text):
            if stream.pending is not None:
                stream.echoes = stream.pending.kind is ExceptionKind.COLLECTIVE
                stream.context.origin = stream.context.origin or stream.pending.origin
                stream.pending = replace(stream.pending, chained=True)
            stream.chains = True
            yield from _flush(stream)
            return
        if _take_context(stream, text):
            yield from _flush(stream)
            return
        yield from _take_text(stream, line)

    def _begin(self, stream: _Stream, line: Line, before: str, original: bool) -> Iterator[Event]:
        """A traceback begins."""
        if original:
            _unwrap(stream)
        told = _gathered_of(line, stream.pending)
        yield from _flush(stream)
        if line.origin.rank is not None and stream.open:
            yield from _cut(stream)
        in_table = text_of.TABLE_CELL.search(before) is not None
        logger = "" if in_table or text_of.PROCESS.search(before) else before
        told = told or self._origin(line, before, in_table)
        stream.chains = False
        _open(stream, line, logger, explicit=True, told=told)
        stream.stack_only = False
        stream.crowded = stream.crowded or len(stream.open) > 1

    def _origin(self, line: Line, before: str, in_table: bool) -> Origin | None:
        """Whose traceback it is where the text in front of it says so."""
        if line.origin.rank is not None:
            return None
        if in_table and self._table is not None:
            return replace(line.origin, rank=self._table[0], local_rank=self._table[1])
        named = text_of.NAMED_RANK.search(before)
        if named is None or text_of.OTHER_AXES.search(before):
            return None
        return replace(line.origin, rank=Rank(int((named["rank"] or named["tp"])[:9])))


def _unwrap(stream: _Stream) -> None:
    """Forget an exception that only carries the one whose traceback follows."""
    wraps = text_of.WRAPPED.search(stream.pending.message) if stream.pending else None
    if wraps is not None:
        stream.pending = None
        stream.context.worker = wraps["where"]


def _gathered_of(line: Line, above: PythonException | None) -> Origin | None:
    """Whose traceback it is where all ranks print what one of them told them.

    Not where the exception above lists all ranks: what one of them raised says nothing of it.
    """
    behind = text_of.RANK_BEHIND.search(line.text)
    if behind is None:
        return None
    lists = None if above is None else text_of.RANKS_LISTED.search(above.message)
    listed = {int(rank[:9]) for rank in lists["ranks"].split(",")} if lists else set()
    if listed and max(listed) < len(listed):
        return None
    return Origin(rank=Rank(int(behind["rank"])))


def _is_unmarked(origin: Origin, marked: Origin) -> bool:
    """Whether `origin` is `marked` without some of its marks."""
    return all(
        getattr(origin, name) in (None, getattr(marked, name))
        for name in ("rank", "local_rank", "task", "host", "pid", "actor")
    )


def _open(
    stream: _Stream, line: Line, before: str, *, explicit: bool, told: Origin | None = None
) -> None:
    """Open a traceback; what was announced above it is its own."""
    context, stream.context = stream.context, _Context()
    stream.open.append(
        _OpenTraceback(
            first=line,
            explicit=explicit,
            prefix=before.rstrip(" |+"),
            thread=context.thread,
            process=context.process,
            worker=context.worker,
            handled=context.handled or text_of.is_mere_log(before) or _below_error(line),
            origin=told or context.origin,
        )
    )
    stream.idle = 0


def _below_error(line: Line) -> bool:
    """Whether a logger's header says that it is no error: the program went on."""
    return line.header is not None and line.header.severity in ("W", "I", "D", "T")


def _is_own(before: str) -> bool:
    """Whether what stands in front of a traceback is a logger's, not the key of what is shown."""
    bare = before.strip(" |+╭─│")
    named = (text_of.TABLE_CELL, text_of.PROCESS, text_of.NAMED_RANK)
    return (
        bare in ("", "Exception Group")
        or begins_message(f"{bare} x", len(bare) + 1)
        or any(pattern.search(before) is not None for pattern in named)
    )


def _take_context(stream: _Stream, text: str) -> bool:
    """Notice lines that announce whose traceback comes next."""
    if not any(word in text for word in text_of.ANNOUNCING):
        return False
    context = stream.context
    thread = text_of.THREAD.search(text)
    process = text_of.PROCESS.search(text)
    spawned = text_of.SPAWNED.search(text)
    if thread is not None:
        context.thread = thread["name"].strip()
    elif process is not None:
        context.process = process["name"]
    elif spawned is not None:
        local = LocalRank(int(spawned["index"][:9]))
        context.origin = Origin(local_rank=local)
    elif text_of.IGNORED.search(text):
        context.handled = True
    elif text_of.NEVER_RETRIEVED.search(text):
        context.thread = "asyncio"
    elif text_of.STACK_ONLY.search(text):
        stream.stack_only = True
    else:
        return False
    return True


def _add_frame(stream: _Stream, line: Line, before: str, frame: Frame) -> Iterator[Event]:
    """Add a frame; one without a header opens a traceback whose head is cut."""
    yield from _flush(stream)
    if stream.stack_only:
        return
    if not stream.open:
        if not _is_own(before):
            return
        _open(stream, line, before, explicit=False)
    stream.idle = 0
    stream.frames.append(frame)
    del stream.frames[:-_KEPT_FRAMES]


def _take_text(stream: _Stream, line: Line) -> Iterator[Event]:
    """A line that is neither header nor frame: a last line, a source line, or other output."""
    if not stream.open:
        yield from _outside(stream, line)
        return
    stream.idle += 1
    text = text_of.strip_logger(line.text, stream.open[-1].prefix)
    last = text_of.read_last_line(text, crowded=stream.crowded)
    if last is None and text is not line.text:
        last = text_of.read_last_line(line.text, crowded=stream.crowded)
    if last is not None:
        yield from _complete(stream, line, *last)
        stream.wants_message = text.rstrip().endswith(":")
    elif stream.idle > _PATIENCE:
        yield from _cut(stream)


def _outside(stream: _Stream, line: Line) -> Iterator[Event]:
    """No traceback is open: the rest of a message, or a last line of its own."""
    waits = stream.pending
    if waits is not None and stream.wants_message and not waits.message and line.text.strip():
        stream.wants_message = False
        message = line.text.strip()[:TEXT_LIMIT]
        kind = classify_exception(waits.exception, message, waits.frames)
        stream.pending = replace(waits, message=message, kind=kind)
        return
    last = None if line.context in OTHERS else text_of.read_lone_last_line(line.text)
    if last is None or not begins_message(line.text, _start_of(line.text, last[0])):
        if line.text.strip():
            stream.stack_only = False
        return
    if line.header is None and last[0] in text_of.OF_THE_KERNEL:
        return
    yield from _flush(stream)
    handled, stream.context.handled = stream.context.handled, False
    stream.open.append(_OpenTraceback(first=line, explicit=False, handled=handled))
    yield from _complete(stream, line, *last)


def _start_of(text: str, name: str) -> int:
    """Where an exception's name begins, with its modules."""
    place = text.find(name)
    while place > 0 and (text[place - 1].isalnum() or text[place - 1] in "._"):
        place -= 1
    return place


def _complete(stream: _Stream, line: Line, name: str, message: str) -> Iterator[Event]:
    """The last line has come: the exception waits only for a follow-up that chains it."""
    yield from _flush(stream)
    opened = stream.open.pop(0)
    frames = tuple(stream.frames)
    if not stream.open:
        stream.frames.clear()
        stream.crowded = False
    stream.idle, stream.wants_message = 0, False
    told = _exception(opened, line, name, message, frames)
    if stream.echoes and told.kind is ExceptionKind.USER:
        told = replace(told, kind=ExceptionKind.COLLECTIVE)
    stream.pending, stream.echoes = told, False
    task = text_of.RAY_TASK.search(message)
    if task is not None:
        stream.context.origin = Origin(
            pid=int(task["pid"][:12]), host=task["ip"], actor=task["actor"]
        )


def _exception(
    opened: _OpenTraceback, line: Line, name: str, message: str, frames: tuple[Frame, ...]
) -> PythonException:
    fields = place(line)
    fields["at"] = line.at if opened.first.at is None else opened.first.at
    fields["origin"] = _merge(line.origin, opened.origin or opened.first.origin)
    kind = classify_exception(name, message, frames)
    if opened.worker is not None:  # its number is the same on all ranks, so it names no process
        message = f"{message} (in {opened.worker})".strip()
    return PythonException(
        **fields,
        kind=kind,
        exception=name,
        message=message[:TEXT_LIMIT],
        frames=frames,
        thread=opened.thread or feeder_thread(frames),
        process=opened.process,
        handled=opened.handled or goes_on(frames, message),
    )


def _cut(stream: _Stream) -> Iterator[Event]:
    """Give up waiting for last lines; a marked traceback with frames is still a failure."""
    opened, frames = stream.open, tuple(stream.frames)
    crowded = stream.crowded
    stream.open, stream.frames, stream.idle, stream.crowded = [], [], 0, False
    if crowded or len(opened) != 1 or not opened[0].explicit or not frames:
        return
    yield _exception(opened[0], opened[0].first, "", "", frames)


def _flush(stream: _Stream) -> Iterator[Event]:
    """Say the exception that waited for a follow-up."""
    if stream.pending is not None:
        yield stream.pending
        stream.pending = None


def _merge(printed: Origin, told: Origin) -> Origin:
    """What the line's prefixes say, completed by what the text says."""
    names = ("rank", "local_rank", "host", "pid", "actor")
    says: dict[str, Any] = {name: getattr(told, name) for name in names}
    return replace(printed, **{name: value for name, value in says.items() if value is not None})
