"""From the waits of a verdict to what is drawn: classes of ranks, who waits for whom, the culprit.

Ranks that take the same part in all waits are one class, so that 16,384 ranks are a few boxes. An
arrow leads from who waits to whom they wait for; it is broken where nothing was seen of those, so
that they may be it or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice, pairwise
from operator import or_

from unhang.model.ids import NO_RANKS, ManyRanks, Ranks, RankSpans
from unhang.model.provenance import Message
from unhang.model.waits import Analysis, CallRef, RankState, Wait
from unhang.reporters.catalogue import write
from unhang.reporters.html.frame import words
from unhang.reporters.printable import fill, one_line

_MOST_BOXES = 9
_MOST_WAITS = 24
_FEW_WAITS = 6
"""So many are drawn each for itself; more are summed up, so that the boxes can be read."""
_LINE_LETTERS, _MOST_LINES = 36, 3
"""Letters of a line of a box, of which those of Chinese are twice as wide; lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A class of ranks.

    Attributes:
        role: `culprit`, `waits`, `unknown` or "".
        notes: what they do, in words.
    """

    ranks: RankSpans
    role: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one box to another, by their places.

    `kind` is `waits`, `guess`, `verdict` or `differs`.
    """

    source: int
    target: int
    label: str
    kind: str = "waits"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphView:
    """What is drawn; `left_out` counts boxes that are not."""

    boxes: tuple[Box, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    left_out: int = 0


def graph_of(
    analysis: Analysis,
    language: str,
    notes: Sequence[tuple[ManyRanks, str]],
    *,
    culprits: Ranks = NO_RANKS,
    victims: Ranks = NO_RANKS,
    call: str = "",
) -> GraphView:
    """Say what there is to draw.

    Args:
        analysis: who waits for whom.
        language: of the labels.
        notes: what some ranks do, in words, the surest first.
        culprits: who is to blame by the verdict.
        victims: who waits by the verdict.
        call: in which call, where no wait leads to the culprits.
    """
    mismatches = analysis.mismatches[:4]
    blamed, waiters = RankSpans.of(culprits), RankSpans.of(victims)
    waits = _summed(analysis.waits, culprits, language) or [
        _Drawn.of(wait, language) for wait in analysis.waits[:_MOST_WAITS]
    ]
    sets: list[ManyRanks] = [blamed, waiters]
    for wait in waits:
        sets += [*wait.waiters, wait.keeping, wait.unknown]
    sets += [variant.ranks for mismatch in mismatches for variant in mismatch.variants]
    classes = _classes(RankSpans.of(ranks) for ranks in sets)
    if not classes:
        return GraphView()
    arrows = _Arrows(classes, blamed)
    for wait in waits:
        arrows.add_wait(wait)
    for mismatch in mismatches:
        arrows.add_variants([RankSpans.of(v.ranks) for v in mismatch.variants], mismatch.call)
    if blamed and waiters and not arrows.lead_to(blamed):
        arrows.add(waiters, blamed, call, "verdict")
    waiting = RankSpans.of(analysis.held_up) | waiters
    notes = [*notes, *((w.held_up, w.label) for w in waits if not w.keeping and not w.unknown)]
    boxes = [
        Box(
            ranks=ranks,
            role=_role(ranks, blamed, waiting, arrows.unknown),
            notes=_notes(ranks, notes, analysis.snapshot.states, language),
        )
        for ranks in classes
    ]
    return _kept(boxes, arrows.found)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A wait, or several as one: who waits, here or further on, for whom, and in what."""

    waiters: tuple[ManyRanks, ...]
    keeping: ManyRanks
    unknown: ManyRanks
    label: str

    @classmethod
    def of(cls, wait: Wait, language: str) -> _Drawn:
        label = _wait_label(wait, language)
        return cls((wait.waiters, wait.ahead), wait.keeping, wait.unknown, label)

    @property
    def held_up(self) -> RankSpans:
        return reduce(or_, map(RankSpans.of, self.waiters))


def _summed(waits: Sequence[Wait], culprits: Ranks, language: str) -> list[_Drawn]:
    """Who waits for the culprits, and who for those; empty where that is not all there is to say.

    Empty as well where there are few waits.
    """
    first = [wait for wait in waits if wait.keeping & culprits]
    further = [wait for wait in waits if not wait.keeping & culprits]
    near = NO_RANKS.union(*(wait.held_up for wait in first)) - culprits
    far = NO_RANKS.union(*(wait.held_up for wait in further)) - near - culprits
    behind = NO_RANKS.union(*(wait.keeping for wait in further))
    known = not any(wait.unknown for wait in waits)
    if len(waits) <= _FEW_WAITS or not (known and near and behind <= near | far):
        return []

    def label(those: Sequence[Wait]) -> str:
        if len(those) == 1:
            return _wait_label(those[0], language)
        return words("graph_calls", language, count=len(those))

    found = [_Drawn((near,), culprits, NO_RANKS, label(first))]
    return [*found, _Drawn((far,), near, NO_RANKS, label(further))] if far else found


def _wait_label(wait: Wait, language: str) -> str:
    call = wait.call
    label = call_label(call.op or "", call.seq, call.description or call.group or "")
    if wait.waited_s is not None:
        waited = write(Message(key="page.since", values={"time": wait.waited_s}), language)
        label = f"{label} · {waited}" if label else waited
    return label


@dataclass(slots=True)
class _Arrows:
    """Finds arrows between classes."""

    classes: Sequence[RankSpans]
    blamed: RankSpans
    found: dict[tuple[int, int], Arrow] = field(default_factory=dict)
    unknown: RankSpans = field(default_factory=RankSpans)

    def add_wait(self, wait: _Drawn) -> None:
        self.add(wait.held_up, RankSpans.of(wait.keeping), wait.label, "waits")
        unknown = RankSpans.of(wait.unknown)
        self.unknown |= unknown
        self.add(wait.held_up, unknown & self.blamed, wait.label, "verdict")
        self.add(wait.held_up, unknown - self.blamed, wait.label, "guess")

    def add_variants(self, variants: Sequence[RankSpans], call: CallRef) -> None:
        label = call_label(call.op or "", call.seq, call.description or call.group or "")
        for one, other in pairwise(variants):
            self.add(one, other, f"≠ {label}", "differs")

    def add(self, sources: RankSpans, targets: RankSpans, label: str, kind: str) -> None:
        for source in self._places(sources):
            for target in self._places(targets):
                if source != target:
                    self.found.setdefault((source, target), Arrow(source, target, label, kind))

    def lead_to(self, ranks: RankSpans) -> bool:
        places = set(self._places(ranks))
        return any(target in places for _, target in self.found)

    def _places(self, ranks: RankSpans) -> list[int]:
        """Classes within `ranks`: each lies wholly in it or outside of it."""
        first = [next(iter(islice(members, 1))) for members in self.classes]
        return [place for place, rank in enumerate(first) if rank in ranks]


def _classes(sets: Iterable[RankSpans]) -> list[RankSpans]:
    """The coarsest classes of which every set is a union."""
    classes: list[RankSpans] = []
    for ranks in sets:
        rest, parts = ranks, []
        for members in classes:
            inside = members & rest
            if inside:
                outside = members - inside
                parts += [inside, *([outside] if outside else [])]
                rest = rest - inside
            else:
                parts.append(members)
        classes = [*parts, *([rest] if rest else [])]
    return sorted(classes, key=lambda members: members.spans)


def call_label(op: str, seq: object, group: str) -> str:
    """Return a call as arrows show it."""
    parts = [op, "" if seq is None else f"#{seq}", group]
    return one_line(" ".join(part for part in parts if part))


def _role(ranks: RankSpans, culprits: RankSpans, waiting: RankSpans, unknown: RankSpans) -> str:
    if ranks & culprits:
        return "culprit"
    if ranks & waiting:
        return "waits"
    return "unknown" if ranks & unknown else ""


def _notes(
    ranks: RankSpans,
    notes: Sequence[tuple[ManyRanks, str]],
    states: Iterable[RankState],
    language: str,
) -> tuple[str, ...]:
    """What most of them do, in at most three lines."""

    def most(told: ManyRanks) -> bool:
        return 2 * len(ranks & RankSpans.of(told)) >= len(ranks)

    found = next((text for told, text in notes if most(told)), "")
    if not found:
        state = next((s for s in states if most(s.ranks)), None)
        found = "" if state is None else _state(state, language)
    lines = fill(found, _LINE_LETTERS)
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES - 1 :] = [f"{lines[_MOST_LINES - 1]} …"]
    long = _LINE_LETTERS + 2
    return tuple(line if len(line) <= long else f"{line[:_LINE_LETTERS]}…" for line in lines)


def _state(state: RankState, language: str) -> str:
    parts = []
    if state.life is not None:
        parts.append(words(f"life.{state.life.value}", language))
    if state.phase is not None:
        parts.append(write(Message(key=f"phase.{state.phase.value}"), language))
    return ", ".join(parts)


def wide(text: str) -> int:
    """How many places a letter of a text takes: those of Chinese are twice as wide."""
    return 2 if any(ord(letter) >= 0x2E80 for letter in text[:8]) else 1


def _kept(boxes: Sequence[Box], found: Mapping[tuple[int, int], Arrow]) -> GraphView:
    """The boxes that matter most, with the arrows between them."""
    joined = {place for pair in found for place in pair}
    order = sorted(
        range(len(boxes)),
        key=lambda p: (boxes[p].role != "culprit", p not in joined, -len(boxes[p].ranks)),
    )
    kept = sorted(order[:_MOST_BOXES])
    places = {old: new for new, old in enumerate(kept)}
    return GraphView(
        boxes=tuple(boxes[place] for place in kept),
        arrows=tuple(
            Arrow(places[a.source], places[a.target], a.label, a.kind)
            for a in found.values()
            if a.source in places and a.target in places
        ),
        left_out=len(boxes) - len(kept),
    )
