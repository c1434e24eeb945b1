"""From lines that every rank prints of the same thing to the few whose line is another one.

Reads, whatever is printed::

    rank   0 = 1.04418230
    rank   1 = 1.04418230
    rank   2 = 0.00000000
    [rank 3] step 61: batch has image=no

Ranks in step print the same text. Where more than half of them did and a few printed another one,
the few are told: once, for the last time that all ranks were heard. Losses and times differ between
all ranks and tell nothing; who always prints another text (the main process) tells nothing either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from unhang import lazy_re as re
from unhang.model.events import Event, OneDiffers
from unhang.model.ids import Rank, Ranks
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary import rank_needles
from unhang.sources.line import Line

_NAMED = re.compile(
    r"^[\s\[(<#|*-]{0,4}(?i:rank)[ \t]{0,6}[:=#]?[ \t]{0,3}(?P<rank>\d{1,5})[\])>]?(?![\w./])"
    r"[ \t]{0,3}[:|,>-]?[ \t]{0,3}(?P<says>\S.{0,300})"
)
_SUBJECT = re.compile(r"[^\d=:]{1,40}|[=:]")
_OF_TRACEBACK = (" ", "Traceback")
_LONGEST = 300
_FEWEST, _MOST_RANKS, _MOST_SUBJECTS = 3, 4_096, 64


@dataclass(slots=True)
class _Subject:
    """What ranks print of one thing: the texts of this time, and who differed the last time."""

    said: dict[Rank, tuple[str, Line]] = field(default_factory=dict)
    differed: Ranks | None = None
    found: tuple[Ranks, Line] | None = None

    def take(self, rank: Rank, text: str, line: Line) -> None:
        """Add a line; a rank that speaks again begins the next time."""
        if rank in self.said:
            self.close()
        if len(self.said) < _MOST_RANKS:
            self.said[rank] = text, line

    def close(self) -> None:
        """Compare what was said this time; a time in which somebody was not heard tells nothing."""
        odd = _odd({rank: text for rank, (text, _) in self.said.items()})
        if odd is not None:
            self.found = (odd, self.said[min(odd)][1]) if odd and odd != self.differed else None
            self.differed = odd
        self.said = {}


class SideBySideParser(LineParser, name="side-by-side", needles=rank_needles.NEEDLES, sampled=True):
    """Parser of what ranks say of the same thing."""

    def __init__(self) -> None:
        self._subjects: dict[str, _Subject] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep the line if it is of one rank."""
        told = _told(line)
        if told is not None:
            rank, text = told
            subject = _SUBJECT.match(text)
            about = None if subject is None else self._about(subject[0])
            if about is not None:
                about.take(rank, text, line)
        return iter(())

    def _about(self, subject: str) -> _Subject | None:
        if subject not in self._subjects and len(self._subjects) >= _MOST_SUBJECTS:
            return None
        return self._subjects.setdefault(subject, _Subject())

    def finish(self) -> Iterator[Event]:
        """Tell who differed the last time."""
        for subject in self._subjects.values():
            subject.close()
            if subject.found is not None:
                odd, line = subject.found
                yield OneDiffers(**place(line), ranks=odd)
        self._subjects = {}


def _told(line: Line) -> tuple[Rank, str] | None:
    """Of which rank a line is and what it says; None where a runtime or a traceback speaks."""
    if line.header is not None and line.header.file.endswith((".cpp", ".cc", ".py")):
        return None
    named = _NAMED.match(line.text)
    if named is not None:
        return Rank(int(named["rank"])), named["says"].strip()
    if line.origin.rank is None or line.text.startswith(_OF_TRACEBACK) or not line.text.strip():
        return None
    return line.origin.rank, line.text[:_LONGEST].strip()


def _odd(said: Mapping[Rank, str]) -> Ranks | None:
    """The few whose text is not that of most; None where not all are heard, or texts are unlike."""
    if len(said) < _FEWEST or max(said) + 1 != len(said):
        return None
    texts: dict[str, set[Rank]] = {}
    for rank, text in said.items():
        texts.setdefault(text, set()).add(rank)
    most = max(texts.values(), key=len)
    if 2 * len(most) <= len(said) or len(texts) > 2:
        return None
    return frozenset(said) - most
