"""From the texts by which frameworks announce their work to `PhaseMark`.

Reads::

    Saving model checkpoint to out/checkpoint-40
    Checkpoint saved in 93.1 seconds.
    > WARNING: could not find index map files, building the indices on rank 0 ...
    caching latents...                                         (any program's announcement)
    [rank0] dumping shard 3/60 -> /ckpt/model-00003-of-00060.safetensors     (any program's words)
    I1202 09:12:15.114 337 torch/_inductor/async_compile.py:288] …           (by who speaks)
    Skipping evaluation                                        (a decoy: says nothing)

Which text means what stands in `settings/data/log_marks.json`. Traps: one text may hold another
(`Finished saving checkpoint` ends what `Saving checkpoint` begins); a time-out's own message may
stand behind a mark on the same line, so a rank is only read close to the mark; a progress bar's
label may be such a text (the bar itself tells more); source lines of tracebacks quote the texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from unhang import lazy_re as re
from unhang.model.events import Event, PhaseMark
from unhang.model.ids import Rank
from unhang.model.phases import Phase, PhaseEdge
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.phases import phase_of_label
from unhang.settings.log_marks import LogMark, log_marks, scan_needles
from unhang.sources.line import Line

_DETAIL_LIMIT = 100
_FIRST_WORDS = 16
_RANK = re.compile(r"\brank[ =:_#]{0,2}(\d{1,6})\b", re.IGNORECASE)
_SOURCE = re.compile(
    r"^\s*(?:self\.|if |log(?:ger|ging)?\.|print\(|raise |return |def |#)|\blog(?:ger|ging)\.\w+\("
    r"|\bprint\w*\("
)
_BAR = re.compile(r".{0,120}?\d{1,3}%\s?\|")
_LASTED = re.compile(
    r"\b(?:takes|took|(?:done|finished|completed|built|loaded|saved) in) \d{1,6}(?:\.\d{1,9})? ?"
    r"(?:ms|s|secs?|seconds)\b"
)
"""How long it was is said when it is over, whatever the words before it announce."""
_LINE_LIMIT = 4000


_ANNOUNCED = ("...", " …", "s…", "g…")
"""Announcements of any program end so."""


_EVALUATES = re.compile(r"(?:^|[./_])(?:eval|evaluat\w{1,4}|validat\w{1,3})(?:[./_]|$)")
_COMPILES = re.compile(r"(?:^|/)torch/_(?:dynamo|inductor)/")
_PLACES = (".eval", "/eval", "eval_", "_eval", "evaluat", "validat", "_dynamo/", "_inductor/")
"""Where code stands that evaluates or compiles: what is logged from there tells of it in any words.
"""

_WRITES = re.compile(
    r"\b(?:writ|sav|dump|export|serializ|flush)ing(?=[\s:])(?P<what>.{0,100}?)"
    r"\S\.(?:safetensors|distcp|pth?|ckpt)(?:\.(?:tmp|part))?(?![\w/-])",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    r"\S\.(?:safetensors|distcp|pth?|ckpt|tar|npz|h5|bin)\b.{0,20}?"
    r"\b(?:written|saved|stored|uploaded|dumped|写入|保存)\b.{0,20}?\d{1,6}(?:\.\d{1,9})? ?s\b",
    re.IGNORECASE,
)
"""A file that was written, and how long that took: any program's report of a save."""
_WEIGHTS = (
    " written (",
    " saved (",
    " saved in",
    " written in",
    ".safetensors",
    ".distcp",
    ".pt",
    ".ckpt",
)
"""Files of weights: what writes one saves, in whatever words it says so."""


class _Found(NamedTuple):
    """A mark at its place in a line."""

    start: int
    end: int
    mark: LogMark


class PhaseMarkParser(
    LineParser, name="phase_marks", needles=(*scan_needles(), *_ANNOUNCED, *_PLACES, *_WEIGHTS)
):
    """Parser of phase marks."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the marks of this line, in order of their place."""
        text = line.text[:_LINE_LIMIT]
        if _SOURCE.search(text) is not None:
            return
        said: set[tuple[Phase, PhaseEdge]] = set()
        hits = _marks(text)
        if not hits:
            yield from _announcement(line) or _speaks_from(line) or _writes(line)
        for hit in hits:
            mark, start = hit.mark, hit.start
            if mark.phase is None or mark.edge is None or _BAR.match(text, start) is not None:
                continue
            edge = mark.edge
            if edge is PhaseEdge.BEGIN and _LASTED.search(text, hit.end, hit.end + _DETAIL_LIMIT):
                edge = PhaseEdge.END
            if (mark.phase, edge) in said:
                continue
            said.add((mark.phase, edge))
            told = _rank_near(text, start)
            rank = mark.rank if told is None else told
            yield PhaseMark(
                **place(line),
                phase=mark.phase,
                edge=edge,
                detail=" ".join(text[start:].split())[:_DETAIL_LIMIT],
                framework=mark.framework,
                rank=None if rank is None else Rank(rank),
            )


_ANNOUNCEMENT = re.compile(r"\s*(?P<work>[A-Za-z]{3,20}ing\b[^:%|=]{0,60}?)\s?(?:\.\.\.|…)\s*$")
_BY_BARS = frozenset({Phase.DATA, Phase.SAVE, Phase.COMPILE, Phase.EVAL})


def _speaks_from(line: Line) -> list[PhaseMark]:
    """What is logged by code that evaluates or compiles, as its header says."""
    file = "" if line.header is None else line.header.file
    if _EVALUATES.search(file) is not None:
        phase, edge = Phase.EVAL, PhaseEdge.BEGIN
    elif _COMPILES.search(file) is not None:
        phase, edge = Phase.COMPILE, PhaseEdge.DURING
    else:
        return []
    detail = " ".join(line.text.split())[:_DETAIL_LIMIT]
    return [PhaseMark(**place(line), phase=phase, edge=edge, detail=detail)]


def _writes(line: Line) -> list[PhaseMark]:
    """A file of weights that is being written, or was, unless what is written are data."""
    text = line.text[:_LINE_LIMIT]
    match, edge = _WRITTEN.search(text), PhaseEdge.END
    if match is None:
        match, edge = _WRITES.search(text), PhaseEdge.BEGIN
        if match is None or phase_of_label(match["what"]) is Phase.DATA:
            return []
    rank = _rank_near(text, match.start())
    return [
        PhaseMark(
            **place(line),
            phase=Phase.SAVE,
            edge=edge,
            detail=" ".join(text[match.start() :].split())[:_DETAIL_LIMIT],
            rank=None if rank is None else Rank(rank),
        )
    ]


def _rank_near(text: str, start: int) -> int | None:
    """The rank that a mark's own words name, or the line's first words."""
    near = _RANK.search(text[max(0, start - 40) : start + _DETAIL_LIMIT])
    named = near or _RANK.search(text[:_FIRST_WORDS])
    return None if named is None else int(named[1])


def _announcement(line: Line) -> list[PhaseMark]:
    """A short line such as `caching latents...`: the words of a bar's label say what begins.

    An evaluation computes its metrics behind its bars; the bars of other work follow its words.
    """
    match = _ANNOUNCEMENT.match(line.text)
    phase = None if match is None else phase_of_label(match["work"])
    if phase is None or phase not in _BY_BARS:
        return []
    return [
        PhaseMark(
            **place(line),
            phase=phase,
            edge=PhaseEdge.BEGIN if phase is Phase.EVAL else PhaseEdge.DURING,
            detail=" ".join(line.text.split())[:_DETAIL_LIMIT],
        )
    ]


def _marks(text: str) -> list[_Found]:
    """The marks of a line in order; of overlapping ones the longest or the heaviest."""
    found = [hit for mark in _near(text) if (hit := _find(text, mark)) is not None]
    found = [hit for hit in found if not any(_holds(other, hit) for other in found)]
    kept: list[_Found] = []
    for hit in sorted(found, key=lambda hit: hit.mark.weight, reverse=True):
        if all(hit.end <= other.start or other.end <= hit.start for other in kept):
            kept.append(hit)
    return sorted(kept, key=lambda hit: hit.start)


def _near(text: str) -> list[LogMark]:
    """The marks whose needle is in a line, in the order of the data."""
    size, by_beginning = _beginnings()
    pieces = {text[at : at + size] for at in range(len(text) - size + 1)}
    likely = sorted(at for piece in by_beginning.keys() & pieces for at in by_beginning[piece])
    marks = log_marks()
    return [marks[at] for at in likely if marks[at].needle in text]


@cache
def _beginnings() -> tuple[int, dict[str, list[int]]]:
    """Places in the data by how a needle begins, and the length of the beginnings."""
    size = min(len(mark.needle) for mark in log_marks())
    places: dict[str, list[int]] = defaultdict(list)
    for at, mark in enumerate(log_marks()):
        places[mark.needle[:size]].append(at)
    return size, dict(places)


def _find(text: str, mark: LogMark) -> _Found | None:
    start = text.find(mark.needle)
    if start < 0:
        return None
    if mark.pattern is not None:
        match = mark.pattern.search(text)
        return None if match is None else _Found(match.start(), match.end(), mark)
    # needles of generic texts lack their first letter
    lacks = start > 0 and text[start].islower() and text[start - 1].isalpha()
    return _Found(start - lacks, start + len(mark.needle), mark)


def _holds(outer: _Found, inner: _Found) -> bool:
    """Whether one mark's text holds the other's, which then says nothing of its own."""
    return (
        inner.mark.phase is not None
        and outer.start <= inner.start
        and inner.end <= outer.end
        and outer.end - outer.start > inner.end - inner.start
    )
