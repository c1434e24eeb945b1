"""Tells the output of programs from what people write, and of whom and when a file speaks.

People write chats, mails, manuals, code, settings, and what they write by hand is small. The tells
are of form, not of words: how lines begin. What tests print about code is no output of a job.
"""

from __future__ import annotations

import ast
import contextlib
import datetime
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

from unhang import lazy_re as re
from unhang.engine.introduced import is_shown_in
from unhang.model.forms import named
from unhang.model.provenance import NOBODY
from unhang.model.time import Clock, Instant
from unhang.parsers.vocabulary.stack_owners import trains
from unhang.sources.artifact import Artifact
from unhang.sources.context import ContextReader, LineContext
from unhang.sources.peel import peel
from unhang.sources.showing import begins

DATED = frozenset({Clock.UTC, Clock.LOCAL, Clock.LOCAL_NO_YEAR})
"""Clocks that tell the day."""
_LARGEST = 256 << 10
_PART = 32 << 10
"""Bytes of each end of a larger file that are looked at."""
_MOST_PEELED = 120
"""Lines of each end whose wrappers are read for hosts and times, and whose form is looked at."""
_MOST_SHOWING = 60
"""Lines of a text that shows others: a longer one is the log itself, or a part of it is."""
_SHOWN = frozenset({LineContext.FENCED, LineContext.FOUND, LineContext.ECHOED})
_LEAST_WRITTEN = 0.3
"""Share of the lines of a document that people write and programs do not."""
_LEAST_PERHAPS = 0.7
"""Share where only lines are that programs write as well."""
_ALL_QUOTED = 0.9
_FEW_SAMPLES = 3
_MOST_QUOTED = 0.22
"""Share of them that programs wrote, and that it quotes."""

_LEAST_COUNTED = 4
"""Lines that differ in nothing but numbers: a program counts."""
_DIGITS = re.compile(r"\d+")

_PATTERNS = named("unhang.engine", "data/nature.toml")
_OUTPUT = _PATTERNS["output"]
_WRITTEN = _PATTERNS["written"]
"""Marks of chats, mails, Markdown, code and JSON."""
_MAYBE_WRITTEN = _PATTERNS["maybe_written"]
"""Settings, prose and lists of commands, which programs print as well."""
_HEADED = _PATTERNS["headed"]
_FRAME = _PATTERNS["frame"]
"""A frame of Python's, below which its source is shown, and a rule."""
_NATIVE = _PATTERNS["native"]
"""A frame of native code: of a job where any of them is of what jobs run on."""

_TESTS = _PATTERNS["tests"]
_DEFINES = re.compile(r"^(?:async def|def|class|from|import) \w", re.MULTILINE)
_PAGE = re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_NAMES = re.compile(r"(?:[A-Za-z_][\w ()/.-]{0,40},){3,40}[A-Za-z_][\w ()/.-]{0,40}")
_SAMPLE = re.compile(r'"(?:prompt|completion|instruction|conversations|messages)" ?:')
_DATE = re.compile(r"(?<!\d)(20\d\d)-(\d\d)-(\d\d)[T_ ](\d\d):(\d\d)")
_OF_A_CLOCK = re.compile(
    r"^(?:[#$>\s]{0,4})(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2})"
    r" (?P<hour>\d\d):(?P<minute>\d\d):\d\d (?:[A-Z]{2,5} )?(?P<year>20\d\d)\s*$"
)
"""What `date` prints, and nvidia-smi above its table."""
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"


@dataclass(frozen=True, slots=True)
class Nature:
    """How the lines of a file begin, and of whom and when they speak.

    Attributes:
        lines: that are not blank, of those that were looked at.
        output: as programs write them.
        written: as people do.
        perhaps: as people do, and programs as well.
        whole: all of the file was looked at.
        tests: it holds what a test runner prints, or is a program or a page itself.
        shows: it is short, and has a part that shows what others printed.
        hosts: names of those who printed it, as far as wrappers tell.
        days: when, the first and the last, as far as lines tell.
        saved: when the file was last written.
        looked_at: how many lines of both ends were asked whether a program of a job wrote them.
        strange: the numbers of those that it did not, as far as their form tells; 0 where the
            number is not known.
    """

    lines: int
    output: int
    written: int
    perhaps: int
    whole: bool = True
    tests: bool = False
    shows: bool = False
    hosts: frozenset[str] = frozenset()
    days: tuple[Instant, ...] = ()
    saved: Instant | None = None
    looked_at: int = 0
    strange: tuple[int, ...] = ()

    @property
    def is_document(self) -> bool:
        """Whether somebody wrote it, and programs at most a part that is quoted."""
        both = self.written + self.perhaps
        if not self.whole:
            return False
        return self.tests or (
            both >= max(2, self.output)
            and self.output <= _MOST_QUOTED * self.lines
            and (
                (self.written > 1 and self.written >= _LEAST_WRITTEN * self.lines)
                or both >= _LEAST_PERHAPS * self.lines
            )
        )

    @property
    def is_log(self) -> bool:
        """Whether its lines are such as programs write, understood or not."""
        return self.output >= max(1.0, self.lines / 2)


def nature_of(artifact: Artifact) -> Nature | None:
    """Look at the lines of an artifact; None where it cannot be read again."""
    if not artifact.again or artifact.dump is not None:
        return None
    try:
        saved = None
        if artifact.path is not None:
            saved = Instant(seconds=Path(artifact.path).stat().st_mtime, clock=Clock.LOCAL)
        with artifact.open() as stream:
            data, whole = ends(stream)
    except Exception:  # a damaged one is told of where it is read for good
        return None
    return nature_of_text(data.decode("utf-8", "replace"), whole=whole, saved=saved)


class Beginning:
    """Keeps the beginning of what is read once only: a member of an archive, a pipe."""

    def __init__(self, artifact: Artifact) -> None:
        self._open = artifact.open
        self._data = b""
        self.artifact = replace(artifact, open=lambda: cast("IO[bytes]", self._opened()))
        """The same, to be read from here."""

    def nature(self) -> Nature:
        """What was read tells."""
        text = self._data[:_LARGEST].decode("utf-8", "replace")
        return nature_of_text(text, whole=len(self._data) <= _LARGEST)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Beginning]:
        with self._open() as self._stream:
            yield self

    def read(self, most: int = -1) -> bytes:
        """As a stream does."""
        data = self._stream.read(most)
        if len(self._data) <= _LARGEST:
            self._data += data
        return data


def ends(stream: IO[bytes], largest: int = _LARGEST, part: int = _PART) -> tuple[bytes, bool]:
    """All of a small stream, and True; of a larger one its beginning, and its end if it can seek.

    Args:
        stream: what to read.
        largest: bytes up to which a stream is small.
        part: bytes of each end of a larger one.
    """
    data = stream.read(largest + 1)
    if len(data) <= largest:
        return data, True
    begin = data[:part]
    try:
        stream.seek(-part, os.SEEK_END)
    except (OSError, ValueError):
        return begin, False
    return begin + b"\n" + stream.read(part), False


def nature_of_text(text: str, *, whole: bool = True, saved: Instant | None = None) -> Nature:
    r"""The same for a text.

    >>> nature_of_text("# Notes\n- ask for nodes\n- rank 3 was killed\n").is_document
    True
    """
    numbered = [(n, line[:400]) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    lines = [line for _, line in numbered]
    if sum(line.startswith(">") for line in lines) >= _ALL_QUOTED * len(lines):
        lines = [line.lstrip("> ") for line in lines]  # a log that somebody quotes whole
    output = sum(_OUTPUT.match(line) is not None for line in lines)
    others = [line for line in lines if not (_OUTPUT.match(line) or _HEADED.match(line))]
    written = sum(_WRITTEN.match(line) is not None for line in others)
    perhaps = sum(
        _MAYBE_WRITTEN.match(line) is not None and _WRITTEN.match(line) is None for line in others
    )
    tests = sum(_TESTS.match(line) is not None for line in lines) > 1 or _is_source(text)
    hosts, days = _told(lines)
    ends = (*numbered[:_MOST_PEELED], *numbered[max(len(lines) - _MOST_PEELED, _MOST_PEELED) :])
    return Nature(
        lines=len(lines),
        output=output,
        written=written,
        perhaps=perhaps,
        whole=whole,
        tests=tests,
        shows=whole and _shows(lines),
        hosts=hosts,
        days=days,
        saved=saved,
        looked_at=len(ends),
        strange=tuple(_strange(ends, whole=whole)),
    )


def _strange(ends: Sequence[tuple[int, str]], *, whole: bool) -> Iterator[int]:
    """The numbers of lines that are not such as programs of a job write.

    Programs say when and who, count, fail and show stacks; people and other programs do not.
    """
    forms = Counter(_DIGITS.sub("0", line) for _, line in ends)
    stacks = any(_NATIVE.match(line) is not None and trains(line) for _, line in ends)
    below = False
    for index, (number, line) in enumerate(ends):
        shown = below and line[:1].isspace()  # the source of a frame
        below, native = _FRAME.match(line) is not None, _NATIVE.match(line) is not None
        own = shown or (stacks if native else below or _is_of_a_program(line, forms))
        if not own:
            yield number if whole or index < _MOST_PEELED else 0


def _is_of_a_program(line: str, forms: Mapping[str, int]) -> bool:
    """Whether a line counts, or has a form of output, or tells who wrote it, or when."""
    counts = forms[_DIGITS.sub("0", line)] >= _LEAST_COUNTED
    return bool(counts or _OUTPUT.match(line) or _HEADED.match(line) or _is_wrapped(line))


def _is_wrapped(line: str) -> bool:
    """Whether a launcher, a logger or a collector says who wrote a line, or when."""
    message = next(peel(line), None)
    return message is not None and (
        message.header is not None or message.at is not None or message.origin != NOBODY
    )


def _is_source(text: str) -> bool:
    """Whether it is a program in Python, a page or a table: it did not print what stands in it."""
    if _PAGE.match(text) is not None or _is_table(text):
        return True
    if _DEFINES.search(text) is None:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_table(text: str) -> bool:
    """Whether it holds samples, or each line is a record of texts below the names of its fields."""
    if text.lstrip()[:1] in ("{", "[") and len(_SAMPLE.findall(text)) >= _FEW_SAMPLES:
        return True
    names, _, rest = text.partition("\n")
    if _NAMES.fullmatch(names.strip()) is None:
        return False
    rows = rest.splitlines()
    records = sum(row.count(",") >= names.count(",") for row in rows)
    texts = sum(" " in row for row in rows)
    return records >= _LEAST_PERHAPS * len(rows) and texts > len(rows) / 2


def _shows(lines: Sequence[str]) -> bool:
    """Whether a short text shows what others printed: a page, a script, a search."""
    if len(lines) > _MOST_SHOWING:
        return False
    reader = ContextReader()
    for number, line in enumerate(lines, 1):
        message = next(peel(line), None)
        if message is None:
            continue
        told = message.header is not None
        context = reader.read(
            message.text, number, raw=message.raw, marked=message.quoted, told=told
        )
        if told:
            continue  # which only the program itself prints
        begun = begins(message.text)
        if context in _SHOWN or (begun is not None and not begun.led):
            return True
    return reader.shows or is_shown_in(lines)


def _told(lines: Sequence[str]) -> tuple[frozenset[str], tuple[Instant, ...]]:
    """Hosts, and the first and the last day, in the lines of both ends."""
    hosts: set[str] = set()
    days: list[Instant] = []
    middle = max(len(lines) - _MOST_PEELED, _MOST_PEELED)
    for line in (*lines[:_MOST_PEELED], *lines[middle:]):
        for message in peel(line):
            if message.origin.host is not None:
                hosts.add(message.origin.host)
            if message.at is not None and message.at.clock in DATED:
                days.append(message.at)
        if (day := day_of(line)) is not None:
            days.append(day)
    days.sort(key=lambda day: (day.clock is Clock.LOCAL_NO_YEAR, day.seconds))
    return frozenset(hosts), tuple(days[:: max(len(days) - 1, 1)])


def day_of(line: str) -> Instant | None:
    """The day and the minute that stand in a line."""
    if (found := _DATE.search(line)) is not None:
        year, month, day, hour, minute = map(int, found.groups())
    elif (found := _OF_A_CLOCK.match(line)) is not None:
        day, hour, minute, year = (int(found[n]) for n in ("day", "hour", "minute", "year"))
        month = _MONTHS.find(found["month"]) // 3 + 1
    else:
        return None
    try:
        when = datetime.datetime(year, month, day, hour, minute, tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
    return Instant(seconds=when.timestamp(), clock=Clock.LOCAL)
