"""From data to the texts by which frameworks show their phases and their name.

`data/log_marks.json` holds those that several print, a framework's own file those that were seen in
its logs, `data/printed_texts/` those that were found in the sources of released packages.

A needle is a literal text that is cheap to find; its optional pattern confirms it. Needles of
generic texts lack their first letter (`aving checkpoint`), so that one serves both cases.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from unhang import lazy_re as re
from unhang.model.phases import Phase, PhaseEdge
from unhang.settings.frameworks import frameworks

_INSTALLED = "packages/"
"""What stands before a package in the paths of an environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMark:
    """A text that shows a phase.

    Attributes:
        phase, edge: both None for a decoy: a text that only looks like a mark, such as
            `Skipping evaluation`.
        framework: whose text it is; None where several print it.
        regex: what the line must match besides, or None.
        rank: the only rank that does this work in that framework, or None.
    """

    needle: str
    phase: Phase | None
    edge: PhaseEdge | None
    framework: str | None = None
    regex: str | None = None
    rank: int | None = None

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """Compiled where a line holds the needle: there are many, and few are ever needed."""
        return None if self.regex is None else _compiled(self.regex)

    @property
    def weight(self) -> tuple[int, int, bool]:
        """Of marks that overlap the heaviest counts: decoys, then ends, then the longer text."""
        order = 2 if self.phase is None else int(self.edge is PhaseEdge.END)
        return order, len(self.needle), self.regex is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkMark:
    """A text by which a framework is known.

    Attributes:
        basis: `log mark`, `package path` or `launch command`.
    """

    needle: str
    framework: str
    basis: str
    pattern: re.Pattern[str] | None = None


@cache
def log_marks() -> tuple[LogMark, ...]:
    """Return the phase marks of all frameworks."""
    return tuple(
        LogMark(
            needle=needle,
            phase=None if row["edge"] == "decoy" else Phase(row["phase"]),
            edge=None if row["edge"] == "decoy" else PhaseEdge(row["edge"]),
            framework=row.get("framework"),
            regex=row.get("pattern"),
            rank=row.get("rank"),
        )
        for row, needle in _needles((*_generic(), *_of_frameworks("marks"), *_printed()))
    )


@cache
def scan_needles() -> tuple[str, ...]:
    """Return short texts one of which stands in every line that holds a mark."""
    return (*own_needles(), *printed_table()["needles"])


def own_needles() -> tuple[str, ...]:
    """Return the needles of the marks that were written by hand."""
    rows = (*_generic(), *_of_frameworks("marks"))
    return tuple(dict.fromkeys(needle for row in rows for needle in row["needles"]))


@cache
def fingerprints() -> tuple[FrameworkMark, ...]:
    """Return the texts by which frameworks are known."""
    return tuple(
        mark
        for row, needle in _needles(_of_frameworks("fingerprints"))
        for mark in (
            FrameworkMark(
                needle=needle,
                framework=row["framework"],
                basis=row["basis"],
                pattern=re.compile(row["pattern"]) if "pattern" in row else None,
            ),
            *_in_a_stack(needle, row),
        )
    )


def _in_a_stack(needle: str, row: Mapping[str, Any]) -> Iterator[FrameworkMark]:
    """The same package as py-spy tells it: `train (trl/trainer/sft_trainer.py:760)`."""
    _, installed, package = needle.partition(_INSTALLED)
    if installed and package:
        short = re.compile(rf"\({re.escape(package)}[\w./-]+\.pyx?:\d+\)")
        yield FrameworkMark(
            needle=f"({package}", framework=row["framework"], basis=row["basis"], pattern=short
        )


def _generic() -> list[dict[str, Any]]:
    """Marks that several frameworks print, or none that is known."""
    text = files("unhang.settings").joinpath("data/log_marks.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)["marks"]
    return rows


@cache
def bar_labels() -> tuple[tuple[Phase, str], ...]:
    """Return the labels of progress bars that released packages print, as patterns."""
    told = (
        (shown.partition(" "), text)
        for rows in printed_table()["texts"].values()
        for text, shown, *_ in rows
    )
    return tuple(
        (Phase(phase), _template(text)) for (phase, _, edge), text in told if edge == "bar"
    )


def _printed() -> Iterator[dict[str, Any]]:
    """Texts of released packages as marks: their longest fixed part finds them."""
    table = printed_table()
    owners = {package: f.name for f in frameworks().values() for package in f.packages}
    shared = set(table["shared"])
    for package, rows in table["texts"].items():
        for text, shown, *_ in rows:
            phase, _, edge = shown.partition(" ")
            if edge == "bar":
                continue
            yield {
                "phase": phase,
                "edge": edge or "decoy",
                "needles": [max((part.strip() for part in text.split("{}")), key=len)],
                "framework": None if text in shared else owners.get(package),
                **({"pattern": _template(text)} if "{}" in text else {}),
            }


@cache
def printed_table() -> dict[str, Any]:
    """`data/printed_texts/`, which `tools/mine` writes: `index.json`, and the rows by package."""
    folder = files("unhang.settings") / "data" / "printed_texts"
    table: dict[str, Any] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    rows = sorted(folder.joinpath("packages").iterdir(), key=lambda file: file.name)
    table["texts"] = {
        file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
        for file in rows
    }
    return table


def _template(text: str) -> str:
    """A pattern of a text in which `{}` stands for any value; blanks may be of any number."""
    parts = (r"\s+".join(map(re.escape, part.split())) for part in text.split("{}"))
    return r"\s*\S.{0,120}?\s*".join(parts).removeprefix(r"\s*\S.{0,120}?\s*")


def _of_frameworks(table: str) -> Iterator[Mapping[str, Any]]:
    for framework in frameworks().values():
        for row in framework.marks if table == "marks" else framework.fingerprints:
            yield {**row, "framework": framework.name}


def _needles(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each needle with its row."""
    return ((row, needle) for row in rows for needle in row["needles"])


_compiled = cache(re.compile)
