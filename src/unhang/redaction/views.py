r"""Shows a text as it was before somebody escaped it, with the places of what is seen.

A secret in a log that is JSON (`"password:\n  x"`), of Docker, or the `repr` of bytes is looked for
in the text that was meant; what is found there is replaced in the text that stands there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.redaction.spans import Span

_ESCAPE = re.compile(
    r'",\s?"stream":\s?"std(?:out|err)"[^\n]{0,300}\}(?:\r?\n\{"log":\s?")?'  # Docker's frame
    r'|(?m:^)\{"log":\s?"'
    r"|\\(?:u(?P<wide>[0-9a-fA-F]{4})|x(?P<narrow>[0-9a-fA-F]{2})|(?P<sign>[nrtbf\"'/\\]))"
)
_SIGNS = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " "}
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class BareText:
    """A text without its escapes.

    Attributes:
        text: what was meant.
        here: where each unbroken piece begins in `text`.
        there: where it begins in the text that was looked at.
    """

    text: str
    here: tuple[int, ...]
    there: tuple[int, ...]

    def back(self, span: Span) -> Span:
        """The same span in the text that was looked at."""
        return Span(self.place(span.begin), self.place(span.end), span.kind)

    def place(self, place: int) -> int:
        """A place in the text that was looked at."""
        piece = bisect_right(self.here, place) - 1
        return self.there[piece] + place - self.here[piece]


def views(text: str) -> Iterator[BareText]:
    """Yield all lines of a text that hold escapes, without them, as often as they are nested."""
    if "\\" not in text:
        return
    view = _without_escapes(text, _lines(text))
    for _ in range(_DEEPEST):
        if view.text:
            yield view
        if "\\" not in view.text:
            return
        inner = _without_escapes(view.text, [(0, len(view.text))])
        there = tuple(view.place(place) for place in inner.there)
        view = BareText(inner.text, inner.here, there)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Where the lines with a backslash begin and end."""
    place = text.find("\\")
    while place >= 0:
        begin, end = text.rfind("\n", 0, place) + 1, text.find("\n", place) + 1
        yield begin, end or len(text)
        place = text.find("\\", end) if end else -1


def _without_escapes(text: str, parts: Iterable[tuple[int, int]]) -> BareText:
    """Parts of a text as one, without escapes."""
    told: list[str] = []
    here: list[int] = []
    there: list[int] = []
    length = 0

    def tell(piece: str, place: int) -> int:
        told.append(piece)
        here.append(length)
        there.append(place)
        return length + len(piece)

    for begin, end in parts:
        done = begin
        for match in _ESCAPE.finditer(text, begin, end):
            length = tell(text[done : match.start()], done)
            length = tell(_meant(match), match.start())
            done = match.end()
        length = tell(text[done:end], done)
    return BareText("".join(told), tuple(here), tuple(there))


def _meant(match: re.Match[str]) -> str:
    code = match["wide"] or match["narrow"]
    if code is not None:
        return chr(int(code, 16))
    sign: str | None = match["sign"]
    return "" if sign is None else _SIGNS.get(sign, sign)
