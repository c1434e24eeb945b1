"""From JSON to settings: variables in launch configurations and runtime environments."""

from __future__ import annotations

import json

from unhang import lazy_re as re
from unhang.linting.document import SettingKind, SettingsDocument
from unhang.linting.readers.words import note_file_keys, note_programs

_PAIR = re.compile(r'"([A-Za-z_][\w.]*)"\s*:\s*(?:"([^"\\]*)"|(-?[\d.]+|true|false))')
_KEY = re.compile(r'"(\w+)"\s*:')
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}")


def read_json(document: SettingsDocument, text: str) -> None:
    """Note pairs of a name and a plain value, by line."""
    for number, line in enumerate(text.splitlines(), start=1):
        for name, quoted, plain in _PAIR.findall(line[:8_000]):
            kind = (
                SettingKind.VARIABLE
                if _VARIABLE.fullmatch(name) is not None
                else SettingKind.OPTION
            )
            document.add(name, quoted or plain, number, kind)
    for key in set(_KEY.findall(text)):
        note_file_keys(document, "json", key)
    note_programs(document, text)
    document.dotted.update(leaves(text))


def leaves(text: str) -> dict[str, str]:
    """The plain values of a JSON by their dotted keys; none of one that does not parse.

    >>> leaves('{"a": {"b": true, "c": null}}')
    {'a.b': 'true', 'a.c': 'null'}
    """
    try:
        tree = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return {}
    found: dict[str, str] = {}
    open_ = [("", tree)] if isinstance(tree, dict) else []
    while open_:
        above, node = open_.pop()
        for key, value in node.items():
            if isinstance(value, dict):
                open_.append((f"{above}{key}.", value))
            elif not isinstance(value, list):
                found[f"{above}{key}"] = value if isinstance(value, str) else json.dumps(value)
    return found
