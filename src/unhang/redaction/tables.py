"""Finds secrets in the column of a table whose head names them: CSV, tabs, pipes, blanks."""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.redaction.names import NEEDLES, Grade, grade
from unhang.redaction.spans import Span
from unhang.redaction.values import is_harmless, is_number, is_prose, looks_random

_KIND = "named secret"
_JOINTS = (
    re.compile(r"[^\n|│┃]+(?=[|│┃]|$)"),
    re.compile(r"\"[^\"\n]*\"|[^\n,]+"),
    re.compile(r"[^\n\t]+"),
    re.compile(r"(?:[^\s]+ )*[^\s]+"),
)
_NEEDLES = tuple(needle.encode() for needle in NEEDLES if needle not in {"key", "pw", "sid"})
_RULED = re.compile(r"[-=+|:│┃━─┼\s]*")
_NAME = re.compile(r"[\w .-]{2,40}")
_MOST_ROWS = 200
_LONGEST_HEAD = 400


def find_in_tables(text: str, lower: bytes) -> Iterator[Span]:
    """Yield the cells below the name of a secret, while rows have as many cells as the head."""
    seen: set[int] = set()
    for needle in _NEEDLES:
        place = lower.find(needle)
        while place >= 0:
            begin, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
            if end < 0:
                break
            if begin not in seen and end - begin <= _LONGEST_HEAD:
                seen.add(begin)
                yield from _below(text, begin, end)
            place = lower.find(needle, max(end, place + 1))


def _below(text: str, begin: int, end: int) -> Iterator[Span]:
    for joint in _JOINTS:
        head = list(joint.finditer(text, begin, end))
        if len(head) < 2 or not all(
            _NAME.fullmatch(_plain(cell[0])) for cell in head if _plain(cell[0])
        ):
            continue
        grades = [grade(_plain(cell[0]).replace(" ", "_")) for cell in head]
        if max(grades) >= Grade.RANDOM:
            yield from _cells(text, end + 1, joint, grades)
            return


def _cells(text: str, begin: int, joint: re.Pattern[str], grades: list[Grade]) -> Iterator[Span]:
    for _ in range(_MOST_ROWS):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        cells = list(joint.finditer(text, begin, end))
        if _RULED.fullmatch(text, begin, end) is None:
            if len(cells) != len(grades):
                return
            for cell, found in zip(cells, grades, strict=True):
                if found >= Grade.RANDOM and _is_secret(_plain(cell[0]), found):
                    inner = cell[0]
                    lead = len(inner) - len(inner.lstrip(" \"'"))
                    tail = len(inner.rstrip(" \"'"))
                    yield Span(cell.start() + lead, cell.start() + tail, _KIND)
        begin = end + 1
        if begin >= len(text):
            return


def _plain(cell: str) -> str:
    return cell.strip(" \"'|\r")


def _is_secret(value: str, found: Grade) -> bool:
    if len(value) < 4 or is_harmless(value) or is_prose(value):
        return False
    return (found is Grade.PASSWORD and not is_number(value)) or looks_random(value)
