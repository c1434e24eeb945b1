"""Patterns that stand as data: rows of a TOML file, each with what a line that matches it says.

A file may say how its texts are written: `blank` is what a blank in them stands for (texts arrive
wrapped by terminals), `parts` are what `{name}` in them stands for, `ignore_case` holds for all.
A row has `says`, `text` (a list: one text in pieces) and perhaps `ignore_case`, or is a text alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, TypeVar

from unhang import lazy_re as re
from unhang.model.toml import load

E = TypeVar("E", bound=Enum)


def rows(package: str, name: str) -> Iterator[tuple[Mapping[str, Any], re.Pattern[str]]]:
    """Each row of `name` as it stands, and its pattern, in the order of the file."""
    data = load(package, name)
    for row in data["rows"]:
        fields = row if isinstance(row, dict) else {"text": row}
        yield fields, _compiled(fields, data)


def patterns(package: str, name: str) -> tuple[re.Pattern[str], ...]:
    """The pattern of each row."""
    return tuple(pattern for _, pattern in rows(package, name))


def patterns_of(kind: type[E], package: str, name: str) -> tuple[tuple[E, re.Pattern[str]], ...]:
    """What each row says, a member of an enumeration by its value, and its pattern."""
    return tuple((kind(row["says"]), pattern) for row, pattern in rows(package, name))


def named(package: str, name: str) -> dict[str, re.Pattern[str]]:
    """The patterns of a file that gives each a name: `name = text`, or a list of its pieces."""
    return {key: re.compile("".join(pieces)) for key, pieces in load(package, name).items()}


def _compiled(row: Mapping[str, Any], data: Mapping[str, Any]) -> re.Pattern[str]:
    text = "".join(row["text"]).replace(" ", data.get("blank", " "))
    for part, stands_for in data.get("parts", {}).items():
        text = text.replace(f"{{{part}}}", "".join(stands_for))
    ignore_case = row.get("ignore_case", data.get("ignore_case", False))
    return re.compile(text, re.IGNORECASE if ignore_case else 0)
