"""Finds private keys whole: on many lines, behind ranks and stamps, escaped in JSON, cut off."""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.redaction.spans import Span

_KIND = "private key"
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_LONGEST = 40_000
_LINE_END = re.compile(r"\r?\n|(?:\\{1,8}r)?\\{1,8}n")
_BODY = re.compile(r"(?:^|[\s:|>\]\"'])(?:[A-Za-z0-9+/]{16,}={0,2}|=[A-Za-z0-9+/]{4})[\s\"',\\]*$")
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash): |^\W*$")


def find_keys(text: str) -> Iterator[Span]:
    """Yield where private keys stand, from the first mark to the last, or as far as they go."""
    if "PRIVATE KEY" not in text:
        return
    done = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < done:
            continue
        end = _END.search(text, begin.end(), begin.end() + _LONGEST)
        following = _BEGIN.search(text, begin.end(), end.start() if end else len(text))
        whole = end is not None and following is None
        done = end.end() if whole and end is not None else _body_end(text, begin.end())
        yield Span(begin.start(), done, _KIND)
    for end in _END.finditer(text):
        if end.start() >= done or not done:
            yield Span(_body_begin(text, end.start()), end.end(), _KIND)


def _body_end(text: str, begin: int) -> int:
    """Where the lines of a key end whose last mark is lost."""
    part = text[begin : begin + _LONGEST]
    place = 0
    for line_end in (*(match.span() for match in _LINE_END.finditer(part)), (len(part),) * 2):
        line = part[place : line_end[0]]
        if place and _BODY.search(line) is None and _HEADER.search(line) is None:
            return begin + place
        place = line_end[1]
        if line_end[0] == len(part):
            break
    return begin + len(part)


def _body_begin(text: str, end: int) -> int:
    """Where the lines of a key begin whose first mark is lost."""
    start = max(0, end - _LONGEST)
    part = text[start:end]
    places = [0, *(match.end() for match in _LINE_END.finditer(part))]
    first = places.pop()  # the line of the mark
    while places:
        begin = places.pop()
        line = _LINE_END.sub("", part[begin:first])
        if _BODY.search(line) is None:
            break
        first = begin
    return start + first
