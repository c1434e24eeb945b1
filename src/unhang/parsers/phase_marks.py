"""From the texts by which frameworks announce their work to `PhaseMark`.

Reads::

    Saving model checkpoint to out/checkpoint-40
    Checkpoint saved in 93.1 seconds.
    > WARNING: could not find index map files, building the indices on rank 0 ...
    Skipping evaluation                                        (a decoy: says nothing)

Which text means what stands in `settings/data/log_marks.json`. Traps: one text may hold another
(`Finished saving checkpoint` ends what `Saving checkpoint` begins); a time-out's own message may
stand behind a mark on the same line, so a rank is only read close to the mark; a progress bar's
label may be such a text (the bar itself tells more); source lines of tracebacks quote the texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from unhang.model.events import Event, PhaseMark
from unhang.model.ids import Rank
from unhang.model.phases import Edge, Phase
from unhang.parsers.base import LineParser, place
from unhang.settings.log_marks import LogMark, log_marks
from unhang.sources.line import Line

_DETAIL_LIMIT = 100
_RANK = re.compile(r"\brank[ =:_#]{0,2}(\d{1,6})\b", re.IGNORECASE)
_SOURCE = re.compile(
    r"^\s*(?:self\.|if |log(?:ger|ging)?\.|print\(|raise |return |def |#)|\blog(?:ger|ging)\.\w+\("
    r"|\bprint\w*\("
)
_BAR = re.compile(r".{0,120}?\d{1,3}%\s?\|")
_LINE_LIMIT = 4000


class PhaseMarkParser(LineParser):
    """Parser of phase marks."""

    NAME: ClassVar[str] = "phase_marks"
    NEEDLES: ClassVar[tuple[str, ...]] = tuple(dict.fromkeys(m.needle for m in log_marks()))

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the marks of this line, in order of their place."""
        text = line.text[:_LINE_LIMIT]
        if _SOURCE.search(text) is not None:
            return
        said: set[tuple[Phase, Edge]] = set()
        for start, mark in _marks(text):
            if mark.phase is None or mark.edge is None or _BAR.match(text, start) is not None:
                continue
            if (mark.phase, mark.edge) in said:
                continue
            said.add((mark.phase, mark.edge))
            detail = text[start - _first_letter(text, start) :]
            ranked = _RANK.search(text[max(0, start - 40) : start + _DETAIL_LIMIT])
            rank = mark.rank if ranked is None else int(ranked[1])
            yield PhaseMark(
                **place(line),
                phase=mark.phase,
                edge=mark.edge,
                detail=" ".join(detail.split())[:_DETAIL_LIMIT],
                framework=mark.framework,
                rank=None if rank is None else Rank(rank),
            )


def _marks(text: str) -> list[tuple[int, LogMark]]:
    """The marks of a line and their places; of overlapping ones the longest or the heaviest."""
    found = [
        (text.index(mark.needle), mark)
        for mark in log_marks()
        if mark.needle in text and (mark.pattern is None or mark.pattern.search(text))
    ]
    found = [hit for hit in found if not any(_holds(other, hit) for other in found)]
    kept: list[tuple[int, LogMark]] = []
    for start, mark in sorted(found, key=lambda hit: hit[1].weight, reverse=True):
        end = start + len(mark.needle)
        if all(end <= s or s + len(m.needle) <= start for s, m in kept):
            kept.append((start, mark))
    return sorted(kept, key=lambda hit: hit[0])


def _holds(outer: tuple[int, LogMark], inner: tuple[int, LogMark]) -> bool:
    """Whether one mark's text holds the other's, which then says nothing of its own."""
    return (
        inner[1].phase is not None
        and len(outer[1].needle) > len(inner[1].needle)
        and outer[0] <= inner[0]
        and inner[0] + len(inner[1].needle) <= outer[0] + len(outer[1].needle)
    )


def _first_letter(text: str, start: int) -> int:
    """1 where the letter in front belongs to the same word, else 0."""
    return int(start > 0 and text[start].islower() and text[start - 1].isalpha())
