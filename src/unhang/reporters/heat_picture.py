"""From what ranks did over time to a picture: SVG with its legend, or PNG with numbers alone.

Both have the same rows, columns and colours. A PNG is written by hand (it is a table of colours and
one compressed block); its letters would need a font, so its legend is told beside it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import accumulate

from unhang.model.activity import Activity, ActivityMap
from unhang.model.ids import RankSpans, format_ranks
from unhang.reporters.html.frame import words
from unhang.reporters.html.heatmap import activity_name
from unhang.reporters.html.markup import tag
from unhang.reporters.printable import fill, one_line

_COLORS = {
    None: "#e9ecef",
    Activity.WORK: "#bfe0cb",
    Activity.WAIT: "#e9a92f",
    Activity.FAULT: "#d0362b",
    Activity.END: "#b9c0c7",
}
_PAPER, _INK = "#ffffff", "#1b1f23"
_MOST_ROWS = 64
_DRAWN = 960
"""Pixels of all columns together."""
_TICKS = 5
_LINE, _MARGIN = 18, 12
_LETTER = 8
"""Pixels of a letter: of the numbers in a PNG, about those of the text in an SVG."""
_FINE_S = 4.0
_GLYPHS = {
    "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711", "5": "74717",
    "6": "74757", "7": "71122", "8": "75757", "9": "75717", "-": "00700", ":": "02020",
    "+": "02720", ".": "00002", ",": "00024", "…": "00005",
}  # fmt: skip
"""Five rows of three dots each, as octal digits."""

Box = tuple[int, int, int, int, "Activity | None"]
Label = tuple[int, int, str]


class _Picture:
    """Where everything stands."""

    def __init__(self, found: ActivityMap) -> None:
        bands = found.bands(_MOST_ROWS)
        self.tall = 22 if len(bands) <= 16 else 12
        texts = [format_ranks(band) for band in bands]
        texts = [text if len(text) <= 16 else f"{text[:15]}…" for text in texts]
        self.left = _MARGIN + _LETTER * max(map(len, texts)) + 8
        self.top = _MARGIN
        self.foot = self.top + self.tall * len(bands)
        self.width = self.left + _DRAWN + 7 * _LETTER + _MARGIN  # half the last time
        every = -(-_LINE // self.tall)
        middle = self.tall // 2
        self.labels: list[Label] = [
            (self.left - 8 - _LETTER * len(text), self.top + self.tall * row + middle, text)
            for row, text in enumerate(texts)
            if row % every == 0
        ]
        for tick in range(_TICKS):
            x = self.left + _DRAWN * tick // (_TICKS - 1)
            text = _time(found, found.columns * tick // (_TICKS - 1))
            self.labels.append((max(2, x - _LETTER * len(text) // 2), self.foot + 12, text))
        self.boxes: list[Box] = [*self._boxes(found, bands)]

    def _boxes(self, found: ActivityMap, bands: Sequence[RankSpans]) -> Iterator[Box]:
        gap = 1 if self.tall > 12 else 0
        for row, strip in enumerate(found.fold(bands)):
            begins = accumulate((length for length, _ in strip), initial=0)
            for begin, (length, kind) in zip(begins, strip, strict=False):
                left, right = (_DRAWN * x // found.columns for x in (begin, begin + length))
                top = self.top + self.tall * row
                yield self.left + left, top, right - left, self.tall - gap, kind


def heat_svg(found: ActivityMap, notes: Sequence[str], language: str) -> str:
    """Return a drawing with axis, legend and notes; it loads nothing.

    Args:
        found: what ranks did.
        notes: what else is to be told: what never completed, how the clocks were aligned.
        language: of its words.
    """
    at = _Picture(found)
    title = words("heat.ranks", language)
    parts = [
        tag("rect", x=x, y=y, width=wide, height=tall, fill=_COLORS[kind])
        for x, y, wide, tall, kind in at.boxes
    ]
    parts += [
        tag(
            "text", text, x=x, y=y, textLength=_LETTER * len(text), lengthAdjust="spacingAndGlyphs",
            dominant_baseline="middle",
        )
        for x, y, text in at.labels
    ]  # fmt: skip
    y = at.foot + 2 * _LINE
    for color, name in legend_of(found, language):
        y += _LINE
        parts.append(tag("rect", x=at.left, y=y - 7, width=14, height=14, fill=color))
        parts.append(tag("text", name, x=at.left + 22, y=y, dominant_baseline="middle"))
    y += _LINE // 2
    for line in (part for note in notes for part in fill(one_line(note), _DRAWN // _LETTER)):
        y += _LINE
        parts.append(tag("text", line, x=at.left, y=y, dominant_baseline="middle"))
    height = y + _LINE
    return tag(
        "svg",
        tag("title", title),
        tag("rect", width=at.width, height=height, fill=_PAPER),
        tag("g", parts, fill=_INK, font_family="ui-monospace, monospace", font_size=13),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {at.width} {height}",
        width=at.width,
        height=height,
        role="img",
    )


def heat_png(found: ActivityMap, description: str) -> bytes:
    """Return the same as pixels, with a text that viewers show beside it."""
    at = _Picture(found)
    palette = [_PAPER, _INK, *_COLORS.values()]
    numbers = {kind: 2 + place for place, kind in enumerate(_COLORS)}
    height = at.foot + 2 * _LINE
    rows = [bytearray(at.width) for _ in range(height)]
    for x, y, wide, tall, kind in at.boxes:
        for row in rows[y : y + tall]:
            row[x : x + wide] = bytes([numbers[kind]]) * wide
    for x, y, text in at.labels:
        for place, letter in enumerate(text):
            _draw(rows, x + _LETTER * place, y - 5, _GLYPHS[letter])
    colors = b"".join(bytes.fromhex(color[1:]) for color in palette)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    header = struct.pack(">IIBBBBB", at.width, height, 8, 3, 0, 0, 0)
    told = b"Description\0\0\0\0\0" + description.encode("utf-8", "replace")
    chunks = ((b"IHDR", header), (b"PLTE", colors), (b"iTXt", told), (b"IDAT", pixels))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*one) for one in (*chunks, (b"IEND", b"")))


def legend_of(found: ActivityMap, language: str) -> list[tuple[str, str]]:
    """Return the colours of a picture and what each says."""
    shown = {kind for _, strip in found.rows for _, kind in strip}
    told = [(_COLORS[k], activity_name(k, found, language)) for k in Activity if k in shown]
    return [*told, (_COLORS[None], words(f"gap.{found.basis.value}", language))]


def _draw(rows: Sequence[bytearray], x: int, y: int, glyph: str) -> None:
    """Two pixels for each dot of a letter."""
    for down, dots in enumerate(glyph):
        for right in range(3):
            if int(dots) & 4 >> right:
                for row in rows[y + 2 * down : y + 2 * down + 2]:
                    row[x + 2 * right : x + 2 * right + 2] = b"\1\1"


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _time(found: ActivityMap, column: int) -> str:
    """The time of day where the clock has one, else hours, minutes and seconds since the begin."""
    past = column * found.width_s
    since = (found.begin_s % 86_400 if found.dated else 0.0) + past
    fine = found.width_s * found.columns < _FINE_S
    whole, thousandths = divmod(round(since * 1_000) if fine else int(since) * 1_000, 1_000)
    hours, minutes = whole // 3600, whole // 60 % 60
    text = f"{hours % 24 if found.dated else hours:02d}:{minutes:02d}:{whole % 60:02d}"
    return ("" if found.dated else "+") + text + (f".{thousandths:03d}" if fine else "")
