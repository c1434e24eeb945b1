"""From physical lines to whole messages: text that a terminal wrapped is joined again.

Terminals and ticket systems break long messages at their width, inside words or at blanks, and
may pad the lines with blanks. Only messages whose beginning is known and whose end has not come
yet are joined, so that an ordinary line is never swallowed; what starts a message of its own, or
is another rank's, ends the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from unhang import lazy_re as re
from unhang.model.toml import load
from unhang.sources.peel import continuation

MOST_LINES = 10
"""Lines that one message may take: 700 characters at 80 columns."""
_MOST_CHARACTERS = 4_000
_TAIL = 2_000
_SHORT = 200
"""Characters of lines that are worth remembering."""

_DATA = load("unhang.sources", "data/wrapped.toml")
_SHAPES = tuple(
    (word, *(re.compile(row[edge].replace(" ", r"\s*")) for edge in ("begin", "end")))
    for row in _DATA["shapes"]
    for word in row["words"].split()
)
"""How a message begins, and what must have come before it is whole.

First a word that a beginning holds, so that most lines are seen to hold none at once.
"""

_SENTENCES = tuple("".join(sentence.split()) for sentence in _DATA["sentences"])
"""Beginnings that may themselves be cut, without blanks: those at a cut are lost."""
_CUT_SENTENCES = frozenset(s[:end] for s in _SENTENCES for end in range(1, len(s)))
_SHORTEST_CUT = 4
_CUT_ENDS = frozenset(s[-_SHORTEST_CUT:] for s in _CUT_SENTENCES if len(s) >= _SHORTEST_CUT)
_LAST_WORDS = 40
_CUT_HEADER = re.compile(
    r"\[(?:rank\d{0,6}|PG (?:ID|GUID|\d)[^\]]{0,60}"
    r"|[EWIF]\d{3,4} [\d:]{0,8}(?:\.\d{0,9})?(?: [\w./-]{0,60}(?::\d{0,6})?)?"
    r"|[EWIF] [A-Z]\w{2,40}\.?\w{0,3}(?::\d{0,6})?)$"
    r"|(?:\[PG [^\]]{1,80}|\[Rank \d{1,6})\]$|\.(?:cpp|py):\d{1,6}\](?: \[\w{0,20}\]?)?$"
)
_STATUS = re.compile(r"last\s*completed\s*(?:NCCL\s*)?work:\s*-?\d+$")
_ONLY_DIGITS = re.compile(r"\d{1,12}\.?$")
_MORE = re.compile(
    r"OpType=|Numel|Timeout\(ms\)|milliseconds|enqueued|completed|TensorShape|requires_grad"
    r"|pinned_memory|Tensor(?:Dtypes|DeviceTypes)|^\s*\d{1,12}\.?\s*$"
)
"""Words that only occur inside such messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineUnit:
    """A piece of an artifact between two line ends.

    Attributes:
        number: one-based number of the physical line.
        text: decoded, without colours and line end.
        hits: indexes of the readers that want it.
        gap: something was skipped before it.
        taken: how many units it was joined from.
        plain: nothing in it can be the beginning of a wrapped message.
        name: of the speaker, in the prefix that a collector put before it.
        lead: that prefix.
    """

    number: int
    text: str
    hits: frozenset[int] = frozenset()
    gap: bool = False
    taken: int = 1
    plain: bool = False
    name: str | None = None
    lead: str = ""


def rejoin(units: Iterator[LineUnit]) -> Iterator[LineUnit]:
    """Yield the units with those joined that make up one message.

    Lines are joined only when the message's end is found, or when they plainly hold more of it;
    otherwise they stay as they were.
    """
    held: list[LineUnit] = []
    for unit in units:
        if held and not _continues(held, unit):
            yield from _release(held)
            held = []
        if held or (not unit.plain and may_be_cut(unit.text)):
            held.append(unit)
        else:
            yield unit
        if len(held) > 1 and not unfinished("".join(_parts(held))):
            yield from _release(held)
            held = []
    yield from _release(held)


def _continues(held: list[LineUnit], unit: LineUnit) -> bool:
    if unit.gap or len(held) >= MOST_LINES or not unit.text.strip():
        return False
    if unit.name != held[0].name:
        return False
    begun = "".join(_parts(held))
    if len(begun) > _MOST_CHARACTERS:
        return False
    rest = continuation(held[0].text, unit.text)
    if rest is None or not _goes_on(begun, rest):
        return False
    return unfinished(begun) or _ONLY_DIGITS.match(rest) is not None


def _release(held: list[LineUnit]) -> Iterator[LineUnit]:
    """Join what belongs together, and yield the rest as it was."""
    together = len(held)
    if unfinished("".join(_parts(held))):
        while together > 1 and _MORE.search(held[together - 1].text) is None:
            together -= 1
    if together > 1:
        first, *others = held[:together]
        yield replace(
            first,
            text="".join(_parts(held[:together])),
            hits=first.hits.union(*(other.hits for other in others)),
            taken=together,
        )
    yield from held[together if together > 1 else 0 :]


def _parts(held: list[LineUnit]) -> Iterator[str]:
    """The texts without padding and without repeated wrappers."""
    for index, unit in enumerate(held):
        text = unit.text if index == 0 else continuation(held[0].text, unit.text)
        yield (text or "").rstrip()


def may_be_cut(text: str) -> bool:
    """Whether a next line could belong to `text`: it is unfinished, or ends within a number."""
    return _short_may_be_cut(text) if len(text) <= _SHORT else _may_be_cut(text)


@lru_cache(maxsize=10_000)
def _short_may_be_cut(text: str) -> bool:
    """The same for a short line; in stacks they come again and again."""
    return _may_be_cut(text)


def _may_be_cut(text: str) -> bool:
    tail = text[-_TAIL:].rstrip()
    return unfinished(text) or (tail[-1:].isdigit() and _STATUS.search(tail[-40:]) is not None)


def unfinished(text: str) -> bool:
    """Whether the last message of `text` has visibly not ended."""
    tail = text[-_TAIL:].rstrip()
    if _ends_in_header(tail[-120:]):
        return True
    for begin, end in [(begin, end) for word, begin, end in _SHAPES if word in tail]:
        begun = max((match.end() for match in begin.finditer(tail)), default=None)
        if begun is not None and end.search(tail, begun) is None:
            return True
    return _cut_sentence(tail)


def _ends_in_header(end: str) -> bool:
    """Whether a line ends with a header, perhaps a cut one; all of them need a bracket."""
    return ("[" in end or end.endswith("]")) and _CUT_HEADER.search(end) is not None


def _cut_sentence(tail: str) -> bool:
    """Whether `tail` ends with a proper beginning of a known sentence."""
    last = "".join(tail[-_LAST_WORDS:].split())[-_SHORTEST_CUT:]
    if len(last) == _SHORTEST_CUT and last not in _CUT_ENDS:  # most lines
        bracket = tail.rfind("] ")
        if bracket < 0 or len("".join(tail[bracket + 2 :].split())) >= _SHORTEST_CUT:
            return False
    return not _CUT_SENTENCES.isdisjoint(_last_parts(tail))


def _goes_on(begun: str, rest: str) -> bool:
    """Whether `rest` is what the sentence cut at the end of `begun` goes on with, if one is."""
    tail = begun[-_TAIL:].rstrip()
    if not _cut_sentence(tail):
        return True
    more = "".join(rest.split())
    return any(
        (part + more).startswith(sentence) or sentence.startswith(part + more)
        for part in _last_parts(tail)
        for sentence in _SENTENCES
        if sentence.startswith(part)
    )


def _last_parts(tail: str) -> set[str]:
    """What stands behind the last brackets and colons, without blanks."""
    parts = set()
    end = len(tail)
    for _ in range(4):
        bracket, colon = tail.rfind("] ", 0, end), tail.rfind(": ", 0, end)
        end = max(bracket, colon)
        if end < 0:
            break
        part = "".join(tail[end + 2 :].split())
        if part and (len(part) >= _SHORTEST_CUT or end == bracket):
            parts.add(part)
    return parts
