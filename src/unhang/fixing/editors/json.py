"""Sets keys in the text of a JSON file: its layout stays, to the character.

The standard parser says whether it is JSON; a small scanner beside it says where each value lies.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any

from unhang import lazy_re as re
from unhang.fixing.limits import Guard, accept
from unhang.fixing.refusal import Refusal

_BLANK = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r"[^\s,\]}]+")
_INDENT = re.compile(r"\n([ \t]+)\S")


@dataclass(slots=True)
class _ValueSpan:
    """Where a value lies; `members` are those of an object."""

    start: int
    end: int = 0
    members: dict[str, _ValueSpan] = field(default_factory=dict)
    is_object: bool = False


def set_key(
    text: str,
    path: Sequence[str],
    value: object,
    *,
    newline: str = "\n",
    guard: Guard = accept,
) -> str:
    """Return the text with one key set.

    Raises:
        Refusal: the text is not JSON (comments are none), or a key stands there twice.
    """
    data = parse(text)
    root = _Scanner(text).scan()
    expected = _with(data, path, value)
    if expected == data:
        return text
    place, depth = root, 0
    while depth < len(path) and path[depth] in place.members:
        place, depth = place.members[path[depth]], depth + 1
    if depth == len(path):
        guard(text[place.start : place.end])
        changed = text[: place.start] + _write(text, path, value, newline) + text[place.end :]
    else:
        changed = _insert(text, place, path, value, depth=depth, newline=newline)
    if json.loads(_bare(changed)) != expected:
        raise Refusal(f"the place of `{'.'.join(path)}` is too complex to change safely")
    return changed


def parse(text: str) -> dict[str, Any]:
    """The data of a JSON object.

    Raises:
        Refusal: it does not parse, or is no object.
    """
    try:
        data = json.loads(_bare(text))
    except JSONDecodeError as error:
        raise Refusal(f"it does not parse: line {error.lineno}: {error.msg}") from error
    except ValueError as error:  # more digits than Python converts
        raise Refusal("it does not parse: a number is too long") from error
    except RecursionError as error:
        raise Refusal("it is nested too deeply") from error
    if not isinstance(data, dict):
        raise Refusal("it holds no keys")
    return data


def _bare(text: str) -> str:
    return text.removeprefix("\ufeff")


def _with(data: Any, path: Sequence[str], value: object) -> Any:  # noqa: ANN401  any JSON
    if not path:
        return value
    key, *rest = path
    inner = data.get(key, {})
    if rest and not isinstance(inner, dict):
        raise Refusal(f"`{key}` holds a value where keys are needed")
    return {**data, key: _with(inner, rest, value)}


def _insert(
    text: str, parent: _ValueSpan, path: Sequence[str], value: object, *, depth: int, newline: str
) -> str:
    """Add a member at the end of an object, laid out like its neighbours."""
    new: object = value
    for key in reversed(path[depth + 1 :]):
        new = {key: new}
    member = f"{json.dumps(path[depth])}: {_write(text, path[: depth + 1], new, newline)}"
    if not parent.members:
        if "\n" in text[parent.start : parent.end]:
            indent = _unit(text) * (depth + 1)
            rest = text[parent.start + 1 :].lstrip(" \t\r\n")
            close = _unit(text) * depth
            return f"{text[: parent.start]}{{{newline}{indent}{member}{newline}{close}{rest}"
        return f"{text[: parent.start + 1]}{member}{text[parent.start + 1 :]}"
    at = list(parent.members.values())[-1].end
    between = text[parent.start + 1 :]
    gap = _BLANK.match(between)
    blank = gap.group() if gap is not None and "\n" in gap.group() else " "
    return f"{text[:at]},{blank}{member}{text[at:]}"


def _write(text: str, path: Sequence[str], value: object, newline: str) -> str:
    """A value as the file would write it at that depth."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    unit = _unit(text)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (newline + unit * len(path)).join(lines)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found.group(1) if found is not None else "  "


class _Scanner:
    """Finds the place of every value in a text that is known to be JSON."""

    def __init__(self, text: str) -> None:
        self._text = text

    def scan(self) -> _ValueSpan:
        return self._value(1 if self._text.startswith("\ufeff") else 0)

    def _value(self, at: int) -> _ValueSpan:
        at = self._skip(at)
        place = _ValueSpan(at)
        match self._text[at]:
            case '"':
                place.end = scanstring(self._text, at + 1)[1]
            case "{":
                place.is_object = True
                place.end = self._object(at + 1, place)
            case "[":
                place.end = self._array(at + 1)
            case _:
                found = _PLAIN.match(self._text, at)
                assert found is not None, "the text is JSON"
                place.end = found.end()
        return place

    def _object(self, at: int, place: _ValueSpan) -> int:
        at = self._skip(at)
        while self._text[at] != "}":
            key, at = scanstring(self._text, at + 1)
            value = self._value(self._skip(at) + 1)
            if key in place.members:
                line = self._text.count("\n", 0, at) + 1
                raise Refusal(f"line {line}: `{key}` appears twice")
            place.members[key] = value
            at = self._separator(value.end)
        return at + 1

    def _array(self, at: int) -> int:
        at = self._skip(at)
        while self._text[at] != "]":
            at = self._separator(self._value(at).end)
        return at + 1

    def _separator(self, at: int) -> int:
        at = self._skip(at)
        return self._skip(at + 1) if self._text[at] == "," else at

    def _skip(self, at: int) -> int:
        found = _BLANK.match(self._text, at)
        return at if found is None else found.end()
