"""From TOML to settings, line by line: configurations of torchtitan and of projects."""

from __future__ import annotations

from unhang import lazy_re as re
from unhang.linting.document import SettingKind, SettingsDocument
from unhang.linting.readers.words import note_programs

_TABLE = re.compile(r"\s*\[\[?\s*([\w.\-\"' ]+?)\s*\]\]?\s*(?:#.*)?")
_PAIR = re.compile(r"\s*([\w.\-\"']+)\s*=\s*(?:\"([^\"\\]*)\"|'([^']*)'|([\w.+:\-]+))\s*(?:#.*)?")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_LONGEST = 8_000


def read_toml(document: SettingsDocument, text: str) -> None:
    """Note plain values with their dotted keys."""
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > _LONGEST:
            continue
        if (head := _TABLE.fullmatch(line)) is not None:
            table = head[1].replace('"', "").replace("'", "").replace(" ", "") + "."
        elif (pair := _PAIR.fullmatch(line)) is not None:
            name = pair[1].replace('"', "").replace("'", "")
            value = next(v for v in pair.groups()[1:] if v is not None)
            variable = _VARIABLE.fullmatch(name) is not None
            document.add(
                name if variable else f"{table}{name}",
                value,
                number,
                SettingKind.VARIABLE if variable else SettingKind.OPTION,
            )
    note_programs(document, text)
