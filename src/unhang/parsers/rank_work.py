"""From all that processes print of their work to what each was at when it last spoke.

Reads, in whatever words::

    [06-11 22:11:10 r0] poly_nms 400/2117
    judge[2] sandbox run 7/24: still running after 120 s          (where judge[0] speaks too)
    I1120 08:10:00 4002 tuner.cc:1041] [p2] Compiled 8120 of 9120 configs.
    [01/16/2024-21:35:30] [TRT] [V] Autotuning format combination …      (nobody signs)
    cache of node rank 2 (ranks 16-23): empty, fetching        (a node speaks for its ranks)

The lines since a process last trained are kept together: some of them say what the work is, others
only count it. Traps: what the runtime and launchers say of trouble is no work, nor is what a thread
prints by the clock; a number behind a name need not be a rank unless such numbers count from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from unhang import lazy_re as re
from unhang.model.events import Event, RankWork
from unhang.model.forms import named
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.provenance import Origin
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary import rank_needles
from unhang.parsers.vocabulary.phases import phase_of_label
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/rank_work.toml")
_TRAINS = _PATTERNS["trains"]
_TROUBLE = _PATTERNS["trouble"]
_CLOCKWORK = _PATTERNS["clockwork"]
_WAITS = _PATTERNS["waits"]
_ENDED = _PATTERNS["ended"]
_GOES_ON = _PATTERNS["goes_on"]
_SPAN = _PATTERNS["span"]
_TAG = _PATTERNS["tag"]
_COUNTED = _PATTERNS["counted"]
_WORDS = re.compile(r"[a-z]{3,20}|[\u4e00-\u9fff]{2}")
_DATA = (" ", '"', "{", "}", "[{", "]")
"""How lines of a table, of JSON or of a traceback begin."""
_LONGEST, _MOST_WORDS, _MOST, _MOST_NODE = 300, 200, 4_096, 1_024

_Voice = tuple[Origin, str | None, Rank | None]
"""Who speaks by the prefix; or by a name with a number in the text itself."""


@dataclass(slots=True)
class _Section:
    first: Line
    last: Line
    lines: int = 0
    phase: Phase | None = None
    words: set[str] = field(default_factory=set)


class RankWorkParser(
    LineParser,
    name="rank-work",
    needles=(
        *rank_needles.NEEDLES,
        *rank_needles.SHORT,
        *(f"/{n}" for n in range(10)),
        "uning ",
        "teration ",
        "ranks ",
    ),
    sampled=True,
):
    """Parser of what each process was at."""

    def __init__(self) -> None:
        self._sections: dict[_Voice, _Section] = {}
        self._spans: dict[_Voice, Ranks] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep the line if somebody speaks of its work in it."""
        text = line.text[:_LONGEST]
        by_torch = line.header is not None and line.header.file.startswith("ProcessGroup")
        shown = text.startswith(_DATA) and _COUNTED.search(text) is None
        if by_torch or not text.strip() or shown or _CLOCKWORK.search(text):
            return iter(())
        voice = _voice(line, text)
        span = _SPAN.search(text)
        if span is not None and int(span["last"]) - int(span["first"]) < _MOST_NODE:
            ranks = range(int(span["first"]), int(span["last"]) + 1)
            self._spans[voice] = frozenset(map(Rank, ranks))
        if _TRAINS.search(text) is not None:
            self._sections.pop(voice, None)
        elif _TROUBLE.search(text) is None:
            self._keep(voice, line, text)
        return iter(())

    def _keep(self, voice: _Voice, line: Line, text: str) -> None:
        phase = phase_of_label(text)
        unsigned = voice[2] is None and (voice[0].rank, voice[0].local_rank) == (None, None)
        if unsigned and not (_COUNTED.search(text) or _WAITS.search(text)):
            return
        section = self._sections.get(voice)
        if section is None:
            if len(self._sections) >= _MOST:
                return
            section = self._sections[voice] = _Section(line, line)
        section.last = line
        section.lines += 1
        section.phase = section.phase if phase in (None, Phase.TRAIN) else phase
        if len(section.words) < _MOST_WORDS:
            section.words.update(_WORDS.findall(text.lower()))

    def finish(self) -> Iterator[Event]:
        """Tell what each was at."""
        numbers: dict[str, set[Rank]] = {}
        for _, tag, rank in self._sections:
            if tag is not None and rank is not None:
                numbers.setdefault(tag, set()).add(rank)
        for voice, section in self._sections.items():
            _, tag, rank = voice
            fields = place(section.last)
            if tag is not None:
                told = numbers[tag]
                if rank is None or len(told) == 1 or told != set(range(len(told))):
                    continue
                fields["origin"] = replace(section.last.origin, rank=rank)
            text = section.last.text[:_LONGEST]
            waits = _WAITS.search(text) is not None
            yield RankWork(
                **fields,
                first=section.first.number,
                since=section.first.at,
                lines=section.lines,
                phase=section.phase,
                ended=_ENDED.search(text) is not None and _GOES_ON.search(text) is None,
                waits_by_its_words=waits,
                words=frozenset(section.words),
                ranks=self._spans.get(voice, NO_RANKS),
            )


def _voice(line: Line, text: str) -> _Voice:
    """Who speaks: by the prefix, else by a name with a number at the head of the text."""
    origin = replace(line.origin, repeated=0)
    tagged = _TAG.match(text) if origin.rank is None and origin.local_rank is None else None
    if tagged is None:
        return origin, None, None
    return replace(origin, pid=None), tagged["tag"], Rank(int(tagged["number"]))
