"""From classes of ranks and arrows between them to a figure, and the same in words."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.ids import format_ranks
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write
from unhang.reporters.html.frame import words
from unhang.reporters.html.markup import Html, join, tag
from unhang.reporters.html.wait_graph import Arrow, GraphView, wide

_WIDTH, _GAP, _RISE, _NEAR = 276, 22, 92, 16
_FEW = 4
"""Boxes that no arrow joins stand below each other, so that a phone shows them; more in pairs."""


def draw(view: GraphView, language: str) -> Html:
    """Return the figure; nothing where one box would stand alone."""
    if len(view.boxes) < 2:
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
        if not view.arrows:  # nobody stands above anybody
            few = 1 if len(view.boxes) <= _FEW else 2
            self._rows = [self._rows[0][at : at + few] for at in range(0, len(view.boxes), few)]
        self._rows = [row for row in self._rows if row]
        self.rows_wide = max(len(row) for row in self._rows)
        back = any(self._levels[a.source] <= self._levels[a.target] for a in view.arrows)
        self._side = 70 if back else 0
        self.width = max(self.rows_wide * (_WIDTH + _GAP) - _GAP, _WIDTH + 60) + 2 * self._side + 8
        self._tops: dict[int, tuple[float, float, float]] = {}
        top, rise = 4.0, _RISE if view.arrows else _NEAR
        for row in self._rows:
            tall = max(self._height(p) for p in row)
            span = len(row) * (_WIDTH + _GAP) - _GAP
            left = (self.width - span) / 2
            for place in row:
                self._tops[place] = (left, top, self._height(place))
                left += _WIDTH + _GAP
            top += tall + rise
        self.height = round(top - rise + 4)

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
        half = (len(shown) * 6.9 * (1.6 if wide(shown) > 1 else 1) + 14) / 2
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
