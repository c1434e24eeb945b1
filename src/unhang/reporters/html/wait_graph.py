"""From the waits of a verdict to a drawing: classes of ranks, who waits for whom, the culprit.

Ranks that take the same part in all waits are one class, so that 16,384 ranks are a few boxes. An
arrow leads from who waits to whom they wait for; it is broken where nothing was seen of those, so
that they may be it or not.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

from unhang.model.ids import NO_RANKS, ManyRanks, Ranks, RankSpans, format_ranks
from unhang.model.provenance import Message
from unhang.model.waits import Analysis, CallRef, RankState, Wait
from unhang.reporters.catalogue import write
from unhang.reporters.html.frame import words
from unhang.reporters.html.markup import Html, join, tag
from unhang.reporters.printable import one_line

_MOST_BOXES = 9
_MOST_WAITS = 24
_WIDTH, _GAP, _RISE = 264, 22, 92
_LINE_LETTERS = 36
"""Letters of a line of a box; those of Chinese are twice as wide."""


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
    waits = analysis.waits[:_MOST_WAITS]
    mismatches = analysis.mismatches[:4]
    blamed, waiters = RankSpans.of(culprits), RankSpans.of(victims)
    sets: list[ManyRanks] = [blamed, waiters]
    for wait in waits:
        sets += [wait.waiters, wait.ahead, wait.keeping, wait.unknown]
    sets += [variant.ranks for mismatch in mismatches for variant in mismatch.variants]
    classes = _classes(RankSpans.of(ranks) for ranks in sets)
    if not classes:
        return GraphView()
    arrows = _Arrows(classes, language)
    for wait in waits:
        arrows.add_wait(wait)
    for mismatch in mismatches:
        arrows.add_variants([RankSpans.of(v.ranks) for v in mismatch.variants], mismatch.call)
    if blamed and waiters and not arrows.lead_to(blamed):
        arrows.add(waiters, blamed, call, "verdict")
    waiting = RankSpans.of(analysis.held_up) | waiters
    notes = [*notes, *((wait.held_up, label) for wait, label in arrows.pointless())]
    boxes = [
        Box(
            ranks=ranks,
            role=_role(ranks, blamed, waiting, arrows.unknown),
            notes=_notes(ranks, notes, analysis.snapshot.states, language),
        )
        for ranks in classes
    ]
    return _kept(boxes, arrows.found)


def draw(view: GraphView, language: str) -> Html:
    """Return the figure; nothing where there is nothing to draw."""
    if not view.boxes:
        return Html("")
    layout = _Layout(view, language)
    drawing = tag(
        "svg",
        tag("title", words("graph", language)),
        tag("desc", ". ".join(_told(view, language))),
        layout.drawn(),
        viewBox=f"0 0 {layout.width} {layout.height}",
        role="img",
        width=layout.width,
        class_="wide" if layout.width > 600 else None,
        aria_label=words("graph", language),
    )
    left_out = words("graph_more", language, count=view.left_out) if view.left_out else ""
    kinds = {arrow.kind for arrow in view.arrows}
    caption = [words(f"graph_{kind}", language) for kind in ("guess", "verdict") if kind in kinds]
    return tag(
        "figure",
        tag(
            "div",
            drawing,
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label=words("graph", language),
        )
        if layout.width > 600
        else drawing,
        tag("figcaption", " ".join([*caption, left_out]).strip()) if caption or left_out else None,
        tag("ul", [tag("li", line) for line in _told(view, language)], class_="read-aloud"),
        class_="graph",
    )


@dataclass(slots=True)
class _Arrows:
    """Finds arrows between classes."""

    classes: Sequence[RankSpans]
    language: str
    found: dict[tuple[int, int], Arrow] = field(default_factory=dict)
    unknown: RankSpans = field(default_factory=RankSpans)
    waits: list[Wait] = field(default_factory=list)

    def add_wait(self, wait: Wait) -> None:
        label = self._wait_label(wait)
        self.waits.append(wait)
        waiters = RankSpans.of(wait.held_up)
        self.add(waiters, RankSpans.of(wait.keeping), label, "waits")
        if unknown := RankSpans.of(wait.unknown):
            self.unknown |= unknown
            self.add(waiters, unknown, label, "guess")

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

    def pointless(self) -> Iterator[tuple[Wait, str]]:
        """Waits of which nobody knows whom they are for, with their labels."""
        for wait in self.waits:
            if not wait.keeping and not wait.unknown:
                yield wait, self._wait_label(wait)

    def _wait_label(self, wait: Wait) -> str:
        call = wait.call
        label = call_label(call.op or "", call.seq, call.description or call.group or "")
        if wait.waited_s is not None:
            waited = write(Message(key="page.since", values={"time": wait.waited_s}), self.language)
            label = f"{label} · {waited}" if label else waited
        return label

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
    """What most of them do, in at most two lines."""
    found = next((text for told, text in notes if ranks & RankSpans.of(told)), "")
    if not found:
        state = next((s for s in states if ranks & RankSpans.of(s.ranks)), None)
        found = "" if state is None else _state(state, language)
    lines = textwrap.wrap(found, _LINE_LETTERS // _wide(found))
    return (*lines[:1], f"{lines[1][: _LINE_LETTERS - 1]}…") if len(lines) > 2 else tuple(lines)


def _state(state: RankState, language: str) -> str:
    parts = []
    if state.life is not None:
        parts.append(words(f"life.{state.life.value}", language))
    if state.phase is not None:
        parts.append(write(Message(key=f"phase.{state.phase.value}"), language))
    return ", ".join(parts)


def _wide(text: str) -> int:
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


def _told(view: GraphView, language: str) -> Iterator[str]:
    """The same in sentences, for who cannot see it."""
    for arrow in view.arrows:
        values = {
            "waiters": view.boxes[arrow.source].ranks,
            "awaited": view.boxes[arrow.target].ranks,
            "call": arrow.label,
        }
        yield words(f"arrow.{arrow.kind}", language, **values)


class _Layout:
    """Puts boxes into rows: who waits stands above whom it waits for."""

    def __init__(self, view: GraphView, language: str) -> None:
        self._view = view
        self._language = language
        self._levels = _levels(view)
        count = max(self._levels) + 1
        self._rows = [
            [p for p, level in enumerate(self._levels) if level == count - 1 - row]
            for row in range(count)
        ]
        self._rows = [row for row in self._rows if row]
        self.rows_wide = max(len(row) for row in self._rows)
        back = any(self._levels[a.source] <= self._levels[a.target] for a in view.arrows)
        self._side = 70 if back else 0
        self.width = max(self.rows_wide * (_WIDTH + _GAP) - _GAP, _WIDTH + 60) + 2 * self._side + 8
        self._tops: dict[int, tuple[float, float, float]] = {}
        top = 4.0
        for row in self._rows:
            tall = max(self._height(p) for p in row)
            span = len(row) * (_WIDTH + _GAP) - _GAP
            left = (self.width - span) / 2
            for place in row:
                self._tops[place] = (left, top, self._height(place))
                left += _WIDTH + _GAP
            top += tall + _RISE
        self.height = round(top - _RISE + 4)

    def _height(self, place: int) -> float:
        return 40 + 18 * len(self._view.boxes[place].notes) + (18 if self._tag(place) else 0)

    def _tag(self, place: int) -> str:
        role = self._view.boxes[place].role
        if role == "waits" and self._view.boxes[place].notes:
            return ""
        return words(f"role.{role}", self._language) if role else ""

    def drawn(self) -> Html:
        arrows = [self._arrow(arrow) for arrow in self._view.arrows]
        boxes = [self._box(place) for place in range(len(self._view.boxes))]
        return join([line for line, _ in arrows], boxes, [label for _, label in arrows])

    def _box(self, place: int) -> Html:
        box = self._view.boxes[place]
        x, y, height = self._tops[place]
        kind = f"{box.role}-box" if box.role else ""
        hot = " culprit-text" if box.role == "culprit" else ""
        middle, line = x + _WIDTH / 2, y + 25
        name = format_ranks(box.ranks)
        name = name if len(name) <= 22 else f"{name[:21]}…"
        key = "unit.rank" if len(box.ranks) == 1 else "unit.ranks"
        title = write(Message(key=key, values={"n": name}), self._language)
        if len(box.ranks) > 1:
            title = f"{title} ({len(box.ranks):,})"
        texts = [_text(middle, line, title, f"strong{hot}")]
        for note in (self._tag(place), *box.notes):
            if note:
                line += 18
                texts.append(_text(middle, line, note, "note"))
        frame = tag(
            "rect",
            x=_n(x),
            y=_n(y),
            width=_WIDTH,
            height=_n(height),
            rx=9,
            class_=f"box {kind}".strip(),
        )
        return tag("g", tag("title", f"{title}: {format_ranks(box.ranks)[:2000]}"), frame, texts)

    def _arrow(self, arrow: Arrow) -> tuple[Html, Html]:
        """The line and its label; the label lies above all lines."""
        (x1, y1, h1), (x2, y2, _) = self._tops[arrow.source], self._tops[arrow.target]
        one, two = x1 + _WIDTH / 2, x2 + _WIDTH / 2
        guess = f" {arrow.kind}" if arrow.kind in ("guess", "verdict") else ""
        kind = "differs" if arrow.kind == "differs" else f"edge{guess}"
        if y1 == y2:
            left, right = (x1, x2) if x1 < x2 else (x2, x1)
            y = y1 + 12
            path = f"M{_n(left + _WIDTH)} {_n(y)}H{_n(right)}"
            return (
                tag("path", d=path, class_=kind),
                self._label((one + two) / 2, y1 + h1 + 16, arrow.label),
            )
        if y1 < y2:
            down, up = y1 + h1, y2 - 8
            bend = (up - down) / 2
            path = _curve((one, down), (one, down + bend), (two, up - bend), (two, up))
            tip = _tip(two, y2)
            middle = ((one + two) / 2, (down + up) / 2)
        else:
            side = max(x1, x2) + _WIDTH
            edge = side + self._side * 0.75
            y_from, y_to = y1 + h1 / 2, y2 + self._tops[arrow.target][2] / 2
            start, end = x1 + _WIDTH, x2 + _WIDTH + 8
            path = _curve((start, y_from), (edge, y_from), (edge, y_to), (end, y_to))
            tip = f"M{_n(x2 + _WIDTH)} {_n(y_to)}l9 -5v10z"
            middle = (min(edge - 10, self.width - 60), (y_from + y_to) / 2)
        line = join(
            tag("path", d=path, class_=kind),
            tag("path", d=tip, class_=f"tip{guess}") if kind != "differs" else None,
        )
        return (line, self._label(*middle, arrow.label))

    def _label(self, x: float, y: float, label: str) -> Html:
        if not label:
            return Html("")
        shown = label if len(label) <= 44 else f"{label[:43]}…"
        half = (len(shown) * 6.9 * (1.6 if _wide(shown) > 1 else 1) + 14) / 2
        x = min(max(x, half), self.width - half)
        back = tag(
            "rect",
            x=_n(x - half),
            y=_n(y - 11),
            width=_n(2 * half),
            height=22,
            rx=4,
            class_="label-back",
        )
        return tag("g", tag("title", label), back, _text(x, y + 4.5, shown, "note"))


def _levels(view: GraphView) -> list[int]:
    """How many steps lie between a box and the end of its longest way; a cycle is cut once."""
    ways: dict[int, list[int]] = {}
    for arrow in view.arrows:
        if arrow.kind != "differs":
            ways.setdefault(arrow.source, []).append(arrow.target)
    known: dict[int, int] = {}

    def level(place: int, above: frozenset[int]) -> int:
        if place not in known:
            further = [t for t in ways.get(place, ()) if t not in above]
            known[place] = 1 + max((level(t, above | {place}) for t in further), default=-1)
        return known[place]

    return [level(place, frozenset({place})) for place in range(len(view.boxes))]


def _text(x: float, y: float, text: str, kind: str) -> Html:
    return tag("text", text, x=_n(x), y=_n(y), text_anchor="middle", class_=kind)


def _curve(*points: tuple[float, float]) -> str:
    """A cubic line from the first point to the last."""
    first, *others = (f"{_n(x)} {_n(y)}" for x, y in points)
    return f"M{first}C{' '.join(others)}"


def _tip(x: float, y: float) -> str:
    return f"M{_n(x)} {_n(y)}l-5.5 -10h11z"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
