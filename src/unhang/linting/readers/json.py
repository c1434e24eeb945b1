"""From JSON to settings: variables in launch configurations and runtime environments."""

from __future__ import annotations

import re

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
