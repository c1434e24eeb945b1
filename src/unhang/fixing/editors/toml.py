"""Sets keys in the text of a TOML file: comments, order and blank lines stay.

tomlkit finds the place and keeps everything around it. The new text is parsed by the standard
parser, and refused unless it differs in the wanted value alone.
"""

from __future__ import annotations

import json
from collections.abc import MutableMapping, Sequence
from typing import Any

from unhang import lazy_re as re
from unhang.fixing.limits import Guard, accept
from unhang.fixing.refusal import Refusal
from unhang.model.toml import TOMLDecodeError, loads

_BOM = "\ufeff"


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
    if value is None:
        raise Refusal("TOML has no word for null: remove the key by hand")
    changed = _changed(text, path, value, newline, guard)
    try:
        proved = loads(_bare(changed)) == expected
    except TOMLDecodeError:
        proved = False
    if not proved:
        raise _unclear(path, value)
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
    return text.removeprefix(_BOM).replace("\r\n", "\n")


def _with(data: Any, path: Sequence[str], value: object) -> Any:  # noqa: ANN401  any TOML
    if not path:
        return value
    key, *rest = path
    inner = data.get(key, {})
    if rest and not isinstance(inner, dict):
        raise Refusal(f"`{key}` holds a value where a table is needed")
    return {**data, key: _with(inner, rest, value)}


def _changed(text: str, path: Sequence[str], value: object, newline: str, guard: Guard) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    whole = _bare(text).endswith("\n") or not text
    document = tomlkit.parse(text.removeprefix(_BOM) + ("" if whole else newline))
    try:
        before = _set(document, path, value, newline)
    except (TOMLKitError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise _unclear(path, value) from error
    if before is not None:
        guard(before)
    changed = tomlkit.dumps(document)
    if "\n" not in text.replace("\r\n", ""):
        changed = re.sub(r"(?<!\r)\n", newline, changed)
    if not whole and changed.endswith(newline):
        changed = changed.removesuffix(newline)
    changed = text[: text.startswith(_BOM)] + changed
    if _lines_lost(text, changed) > (0 if before is None else before.count("\n") + 1):
        raise _unclear(path, value)
    return changed


def _set(document: Any, path: Sequence[str], value: object, newline: str) -> str | None:  # noqa: ANN401
    """Set the key in a parsed document; returns the value that it had, as written, or None."""
    import tomlkit

    *tables, key = path
    inner = document
    for name in tables:
        if name not in inner:
            table = tomlkit.table()
            table.trivia.trail = newline
            _append(inner, name, table)
        inner = inner[name]
    if key in inner:
        if isinstance(inner[key], (MutableMapping, tomlkit.items.AoT)):
            raise TypeError
        old = inner[key]
        # A truth comes as Python's own.
        before: str = str(old).lower() if isinstance(old, bool) else old.as_string()
        inner[key] = value
        return before
    item = tomlkit.item(value)
    item.trivia.trail = newline
    _append(inner, key, item)
    return None


def _append(inner: Any, key: str, item: Any) -> None:  # noqa: ANN401
    """Add a key after the last one; comments that follow it introduce what comes next."""
    container = getattr(inner, "value", inner)
    body = getattr(container, "body", [])
    last = next((n for n in range(len(body), 0, -1) if body[n - 1][0] is not None), 0)
    tail = body[last:]
    del body[last:]
    if last and not isinstance(item, MutableMapping):
        item.trivia.indent = body[-1][1].trivia.indent
    inner[key] = item
    body.extend(tail)


def _lines_lost(before: str, after: str) -> int:
    """How many lines of a text are no more between what both begin and end with."""
    old, new = before.splitlines(), after.splitlines()
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    most -= head
    tail = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    return len(old) - head - tail


def _unclear(path: Sequence[str], value: object) -> Refusal:
    return Refusal(
        f"the place of `{'.'.join(path)}` is too complex to change safely;"
        f" set it to {json.dumps(value, ensure_ascii=False)} by hand"
    )
