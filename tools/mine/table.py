"""From the texts of many releases to the rows of `settings/data/printed_texts/`.

A row is `[text, what it shows, place, release]`: what a value fills in is `{}`, what it shows is
`phase edge`, `phase bar` or `decoy` (a text that only looks like a sign), and the place is
`file:line function` in the newest release that has it. One text stands under one package.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from mine.phases import shown_by
from mine.texts import Text
from unhang.settings.frameworks import frameworks
from unhang.settings.log_marks import own_needles, printed_table

TABLE = Path(__file__).parents[2] / "src/unhang/settings/data/printed_texts"
REVIEWED = Path(__file__).with_name("reviewed.json")
_ABOUT = (
    "Texts of released packages that show a phase, written by `python -m mine`. Rows by package:"
    " text ({} is what a value fills in), what it shows, file:line function, release."
    " `shared` are texts of several packages."
)
_LEAST, _MOST = 12, 56
"""Letters that a text needs to be told from others; and after which the rest of it is left out."""
_NEEDLE = 16
"""Letters of a needle, up to the end of a word."""


class Found(NamedTuple):
    """A text where it was found."""

    package: str
    release: str
    text: Text


def read_table() -> dict[str, Any]:
    """The table as it stands."""
    return printed_table()


def write_table(packages: dict[str, list[str]], found: Iterable[Found]) -> dict[str, Any]:
    """The table of these releases; of each package the newest comes first."""
    reviewed = {(r[0], r[1]): r[2] for r in json.loads(REVIEWED.read_text(encoding="utf-8"))}
    by_text: dict[str, list[Found]] = defaultdict(list)
    for one in found:
        by_text[one.text.text].append(one)
    shown: dict[str, tuple[str, list[Found]]] = {}
    for text, places in by_text.items():
        said = {t for p in places if (t := _told(p, reviewed)) is not None}
        if len(said) == 1:
            shown[text] = said.pop(), places
    rows: dict[str, list[list[str]]] = defaultdict(list)
    shared: list[str] = []
    kept: dict[str, str] = {}
    for text, (told, places) in sorted(shown.items()):
        short = _cut(text)
        if not _is_plain(short) or _is_known(text):
            continue
        if kept.setdefault(short, told) != told:
            raise SystemExit(f"{short!r} shows {kept[short]} and {told}: review them")
        first = min(places, key=lambda p: (p.package, packages[p.package].index(p.release)))
        row = [
            short,
            told,
            f"{_file(first.text.file)}:{first.text.line} {first.text.function}",
            first.release,
        ]
        if all(row[0] != other[0] for other in rows[first.package]):
            rows[first.package].append(row)
        if len({p.package for p in places}) > 1:
            shared.append(short)
    return {
        "about": _ABOUT,
        "packages": dict(sorted(packages.items())),
        "shared": sorted(set(shared)),
        "needles": _needles(kept.items()),
        "texts": {name: rows[name] for name in sorted(rows)},
    }


def _needles(told: Iterable[tuple[str, str]]) -> list[str]:
    """What else to look for in a log: texts in which none of the other marks' needles stands."""
    needles = own_needles()
    found: list[str] = []
    for text, shown in sorted(told, key=lambda t: (len(t[0]), t[0])):
        fixed = max((part.strip() for part in text.split("{}")), key=len)
        if not shown.endswith("bar") and not any(n in fixed for n in (*needles, *found)):
            end = re.compile(r"(?=\s|$)").search(fixed, min(_NEEDLE, len(fixed)))
            found.append(fixed if end is None else fixed[: end.start()])
    return found


def _is_known(text: str) -> bool:
    """Whether a framework's own file has it, with the rank that prints it or a wiser edge."""
    return any(
        any(needle in text for needle in mark["needles"])
        and re.search(mark.get("pattern", ""), text) is not None
        for framework in frameworks().values()
        for mark in framework.marks
    )


def _told(place: Found, reviewed: dict[tuple[str, str], str | None]) -> str | None:
    key = place.package, place.text.text
    if key in reviewed:
        return reviewed[key]
    shown = shown_by(place.text)
    return None if shown is None else " ".join(shown)


def _is_plain(text: str) -> bool:
    """Whether its fixed parts tell it from other texts."""
    longest = max((part.strip() for part in text.split("{}")), key=len)
    letters = sum(c.isalpha() for c in text.replace("{}", ""))
    return letters >= _LEAST and len(longest) >= _LEAST and len(longest.split()) > 1


def _cut(text: str) -> str:
    """Its beginning, at the end of a word."""
    if len(text) <= _MOST:
        return text
    end = re.compile(r"(?<=[^\s{}])(?=\s|$)").search(text, _MOST)
    return text if end is None else text[: end.start()].rstrip(" ({[,:;'\"")


def _file(name: str) -> str:
    return re.sub(r"^(?:[^/]+\.data/purelib/|src/)", "", name)
