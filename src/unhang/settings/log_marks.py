"""From data to the texts by which frameworks show their phases and their name.

`data/log_marks.json` holds those that several print, a framework's own file those that were seen in
its logs, `data/printed_texts.json` those that were found in the sources of released packages.

A needle is a literal text that is cheap to find; its optional pattern confirms it. Needles of
generic texts lack their first letter (`aving checkpoint`), so that one serves both cases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from unhang.model.phases import Phase, PhaseEdge
from unhang.settings.frameworks import frameworks


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMark:
    """A text that shows a phase.

    Attributes:
        phase, edge: both None for a decoy: a text that only looks like a mark, such as
            `Skipping evaluation`.
        framework: whose text it is; None where several print it.
        pattern: what the line must match besides, or None.
        rank: the only rank that does this work in that framework, or None.
    """

    needle: str
    phase: Phase | None
    edge: PhaseEdge | None
    framework: str | None = None
    pattern: re.Pattern[str] | None = None
    rank: int | None = None

    @property
    def weight(self) -> tuple[int, int, bool]:
        """Of marks that overlap the heaviest counts: decoys, then ends, then the longer text."""
        order = 2 if self.phase is None else int(self.edge is PhaseEdge.END)
        return order, len(self.needle), self.pattern is not None


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
            pattern=pattern,
            rank=row.get("rank"),
        )
        for row, needle, pattern in _needles((*_generic(), *_of_frameworks("marks"), *_printed()))
    )


@cache
def fingerprints() -> tuple[FrameworkMark, ...]:
    """Return the texts by which frameworks are known."""
    return tuple(
        FrameworkMark(
            needle=needle, framework=row["framework"], basis=row["basis"], pattern=pattern
        )
        for row, needle, pattern in _needles(_of_frameworks("fingerprints"))
    )


def _generic() -> list[dict[str, Any]]:
    """Marks that several frameworks print, or none that is known."""
    text = files("unhang.settings").joinpath("data/log_marks.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)["marks"]
    return rows


@cache
def bar_labels() -> tuple[tuple[Phase, re.Pattern[str]], ...]:
    """Return the labels of progress bars that were found in released packages."""
    return tuple(
        (Phase(row["phase"]), re.compile(_template(row["text"]))) for row in _reviewed("bar")
    )


def _printed() -> Iterator[dict[str, Any]]:
    """Texts found in released packages as marks: their longest fixed part finds them."""
    for row in _reviewed("mark"):
        needle = max((part.strip() for part in row["text"].split("{}")), key=len)
        own = row["package"].replace("_", "-")
        framework = own if own in frameworks() else None
        yield {
            "phase": row.get("phase", "none"),
            "edge": row["edge"],
            "needles": [needle],
            "pattern": _template(row["text"]),
            **({} if framework is None else {"framework": framework}),
        }


def _reviewed(kind: str) -> Iterator[dict[str, Any]]:
    text = files("unhang.settings").joinpath("data/printed_texts.json").read_text(encoding="utf-8")
    for row in json.loads(text)["texts"]:
        if ("edge" in row) is (kind == "mark"):
            yield row


def _template(text: str) -> str:
    """A pattern of a text in which `{}` stands for any value; blanks may be of any number."""
    parts = (r"\s+".join(map(re.escape, part.split())) for part in text.split("{}"))
    return r"\s*\S.{0,120}?\s*".join(parts).removeprefix(r"\s*\S.{0,120}?\s*")


def _of_frameworks(table: str) -> Iterator[Mapping[str, Any]]:
    for framework in frameworks().values():
        for row in framework.marks if table == "marks" else framework.fingerprints:
            yield {**row, "framework": framework.name}


def _needles(
    rows: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[Mapping[str, Any], str, re.Pattern[str] | None]]:
    """Each needle with its row and its pattern."""
    for row in rows:
        pattern = re.compile(row["pattern"]) if "pattern" in row else None
        for needle in row["needles"]:
            yield row, needle, pattern
