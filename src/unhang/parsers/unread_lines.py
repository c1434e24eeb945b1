"""Finds the lines that look like a failure and that no parser understood.

They are what a person would look at first where nothing is understood: quoting them is more honest
than saying that no failure is printed. A line counts by the level that its logger gave it, and by
words that programs use when they give up, where these begin a message and are not denied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.model.events import UnreadLine
from unhang.model.forms import named
from unhang.parsers.base import place
from unhang.parsers.vocabulary.nccl_texts import NOISE
from unhang.sources.context import LineContext
from unhang.sources.line import Line
from unhang.sources.plan import Wanted

MOST = 5
"""Lines of one artifact that are kept."""
_LEAST = 2
"""Weight from which a line is worth quoting."""
_MOST_SHAPES = 512
_LONGEST = 600

_PATTERNS = named("unhang.parsers", "data/unread_lines.toml")
_GIVEN_UP = _PATTERNS["given_up"]
_WENT_WRONG = _PATTERNS["went_wrong"]
_DENIED = _PATTERNS["denied"]
_SEVERE = frozenset({"E", "F"})
_LEVEL = re.compile(r"\W{0,3}(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|\*\*\* )")
_FRAME = re.compile(r"\s*#\d{1,4}\s")
"""A frame of a native stack: its functions may be called `abort` or `timeout`."""
_DIGITS = re.compile(r"0x[0-9a-f]+|\d+", re.IGNORECASE)


@dataclass(slots=True)
class _Suspicious:
    line: Line
    weight: int


class UnreadLines:
    """The suspicious lines of one artifact."""

    WANTED = Wanted(
        needles=(
            *("rror", "RROR", "ailed", "ailure", "FAIL", "atal", "FATAL", "bort", "ABORT"),
            *("egfault", "core dumped", "xception", "raceback", "xit code", "exited", "illed"),
            *("efused", "imed out", "unreachable", "MISMATCH", "INCOMPLETE", "issing ranks"),
            *("talled", "panic", "crash", "died", "hung", "giving up", "CRITICAL", "orrupt"),
            *("out of memory", "Out of bounds values", "NCCL WARN", "eceived sig", "imeout"),
        ),
        sampled=True,
    )

    def __init__(self) -> None:
        self._found: dict[str, _Suspicious] = {}

    def feed(self, line: Line) -> None:
        """Weigh one line; of lines of one shape the first is kept."""
        if line.context is not LineContext.MESSAGE or len(self._found) >= _MOST_SHAPES:
            return
        if _FRAME.match(line.text):
            return
        shape = _DIGITS.sub("#", line.text[:_LONGEST])
        if shape not in self._found and (weight := weigh(line)) >= _LEAST:
            self._found[shape] = _Suspicious(line, weight)

    def unread(self, read: Collection[int]) -> Iterator[UnreadLine]:
        """The most suspicious ones that are not among the lines that were `read`, then others."""
        for was_read in (False, True):
            left = [s for s in self._found.values() if (s.line.number in read) is was_read]
            left.sort(key=lambda s: (-s.weight, -s.line.number))
            for found in left[:MOST]:
                yield UnreadLine(**place(found.line), weight=found.weight, read=was_read)


def weigh(line: Line) -> int:
    """How much a line looks like a failure; 0 where it says that there is none."""
    return weigh_text(line.text, severe=line.header is not None and line.header.severity in _SEVERE)


def weigh_text(text: str, *, severe: bool) -> int:
    """The same of a message alone.

    Args:
        text: the message.
        severe: its logger gave it the level of an error.
    """
    text = text[:_LONGEST]
    denied = _DENIED.search(text) is not None
    text = _DENIED.sub(" ", text)
    words = 2 * (_GIVEN_UP.search(text) is not None) + (_WENT_WRONG.search(text) is not None)
    severe = (
        severe
        or _LEVEL.match(text) is not None
        or ("NCCL WARN" in text and NOISE.search(text) is None)
    )
    return words + 2 * severe if words or not denied else 0
