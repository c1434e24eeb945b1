"""Sets keys in the text of a TOML file: comments, order and blank lines stay.

Tables and plain `key = value` lines are understood; whatever else a file holds stays as it is. The
new text is parsed by the standard parser, and refused unless it differs in the wanted value alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from unhang.fixing.limits import Guard, accept
from unhang.fixing.refusal import Refusal
from unhang.model.toml import TOMLDecodeError, loads

_TABLE = re.compile(r"\s*\[\s*([\w.\- \"']+?)\s*\]\s*(?:#.*)?")
_ARRAY = re.compile(r"\s*\[\[.*")
_PAIR = re.compile(
    r"(\s*)([\w\-]+|\"[\w.\-]+\"|'[\w.\-]+')(\s*=\s*)"
    r"(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\w.+:\-]+|\[[^\[\]\"'#]*\])(\s*(?:#.*)?)"
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


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
        Refusal: the text is no TOML, or the key is written in a way that is not understood.
    """
    data = parse(text)
    expected = _with(data, path, value)
    if expected == data:
        return text
    changed = _changed(text, path, _write(value), newline, guard)
    try:
        proved = loads(_bare(changed)) == expected
    except TOMLDecodeError:
        proved = False
    if not proved:
        raise Refusal(
            f"the place of `{'.'.join(path)}` is not plain enough to change it safely;"
            f" set it to {_write(value)} by hand"
        )
    return changed


def parse(text: str) -> dict[str, Any]:
    """The data of a TOML text.

    Raises:
        Refusal: it does not parse.
    """
    try:
        data: dict[str, Any] = loads(_bare(text))
    except TOMLDecodeError as error:
        raise Refusal(f"it does not parse: {error}") from error
    return data


def _bare(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _with(data: Any, path: Sequence[str], value: object) -> Any:  # noqa: ANN401  any TOML
    if not path:
        return value
    key, *rest = path
    inner = data.get(key, {})
    if rest and not isinstance(inner, dict):
        raise Refusal(f"`{key}` holds a value where a table is needed")
    return {**data, key: _with(inner, rest, value)}


def _write(value: object) -> str:
    if value is None:
        raise Refusal("TOML has no word for null: take the key out by hand")
    return json.dumps(value, ensure_ascii=False)


def _changed(text: str, path: Sequence[str], value: str, newline: str, guard: Guard) -> str:
    """Replace the value where the key stands, else add it to its table, else add the table."""
    *table, key = path
    lines = text.splitlines(keepends=True)
    last: int | None = None
    for number, above, line in _places(lines):
        if above != table:
            continue
        body = line.rstrip("\r\n")
        if body.strip() and not body.lstrip().startswith("#"):
            last = number
        pair = _PAIR.fullmatch(body)
        if pair is not None and pair[2].strip("\"'") == key:
            guard(pair[4])
            end = line[len(body) :]
            lines[number] = f"{pair[1]}{pair[2]}{pair[3]}{value}{pair[5]}{end}"
            return "".join(lines)
    if last is None and not table:
        raise Refusal(f"it has no key before its first table: add {key} = {value} at its top")
    if last is None:
        gap = "" if not text or text.endswith("\n") else newline
        head = ".".join(part if _BARE.fullmatch(part) else json.dumps(part) for part in table)
        return f"{text}{gap}{newline}[{head}]{newline}{key} = {value}{newline}"
    body = lines[last].rstrip("\r\n")
    indent = body[: len(body) - len(body.lstrip())]
    lines[last] = f"{body}{newline}{indent}{key} = {value}{lines[last][len(body) :]}"
    return "".join(lines)


def _places(lines: Sequence[str]) -> Iterator[tuple[int, list[str] | None, str]]:
    """Each line with the table that it belongs to; that of an array of tables is None."""
    above: list[str] | None = []
    for number, line in enumerate(lines):
        if _ARRAY.match(line):
            above = None
        elif (head := _TABLE.fullmatch(line.rstrip("\r\n"))) is not None:
            above = [part.strip().strip("\"'") for part in head[1].split(".")]
        yield number, above, line
