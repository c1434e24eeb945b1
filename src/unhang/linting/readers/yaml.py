"""From YAML to settings, line by line: training configurations, Kubernetes, Compose, launchers.

A full parser would lose the line of each value, refuse files with templates in them (Helm, Hydra),
and read tags that build objects. Indentation, keys and values are enough here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang import lazy_re as re
from unhang.linting.document import SettingKind, SettingsDocument
from unhang.linting.readers.shell import read_lines
from unhang.linting.readers.words import (
    known_value,
    note_file_keys,
    note_programs,
    read_words,
    split_words,
)

_ENTRY = re.compile(r"(\s*)((?:- +)*)(.*)")
_KEY = re.compile(r"([\"']?)([A-Za-z_][\w.\-/]*)\1\s*:(?:\s+(.*))?")
_BLOCK = re.compile(r"[|>][+-]?\d?")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_FLAG = re.compile(r"--[A-Za-z][\w.-]*")
_FLOW_VALUE = r"""(?P<quote>["']?)(?P<value>[^"'{}\[\],]*)(?P=quote)(?=\s*[,}])"""
_FLOW_NAMED = re.compile(
    r"""\{\s*name:\s*["']?(?P<name>[A-Z][A-Z0-9_]{2,})["']?\s*,\s*value:\s*""" + _FLOW_VALUE
)
_FLOW_PAIR = re.compile(r"""[{,]\s*["']?(?P<name>[A-Z][A-Z0-9_]{2,})["']?:\s+""" + _FLOW_VALUE)
_NULLS = frozenset({"null", "~"})
_FLOW = str.maketrans("[],{}", "     ")
_COMMENT = re.compile(r"\s#.*")


def read_yaml(document: SettingsDocument, text: str) -> None:
    """Note the settings of a YAML text."""
    _Yaml(document, text.splitlines()).read()


class _Yaml:
    """One pass over the lines."""

    def __init__(self, document: SettingsDocument, lines: Sequence[str]) -> None:
        self._document = document
        self._lines = lines
        self._path: list[tuple[int, str]] = []
        self._named: tuple[int, str] | None = None
        """Indentation and variable of a `- name: NCCL_DEBUG`; its value stands beside it."""

    def read(self) -> None:
        index = 0
        while index < len(self._lines):
            index = self._read_line(index)

    def _read_line(self, index: int) -> int:
        """Read one line, or a key with its block; return the index of what follows."""
        line, number = self._lines[index], index + 1
        entry = _ENTRY.match(line)
        if entry is None or entry.group(3).startswith("#") or not entry.group(3):
            return index + 1
        key = _KEY.fullmatch(entry.group(3))
        if key is None:
            return self._read_item(index, entry)
        given = key.group(3) or ""
        # In braces over several lines, as JSON is written, a comma ends each value.
        given = given.rstrip().removesuffix(",") if key.group(1) else given
        indent, value = entry.end(2), _plain(given)
        while self._path and self._path[-1][0] >= indent:
            self._path.pop()
        self._path.append((indent, key.group(2)))
        if _BLOCK.fullmatch(value) is not None:
            body = list(self._body(index + 1, len(entry.group(1))))
            read_lines(self._document, body)
            return index + 1 + len(body)
        self._read_key(indent, key.group(2), value, number)
        return index + 1

    def _read_item(self, index: int, entry: re.Match[str]) -> int:
        """Read one item of a list; a flag's value is the item that follows it."""
        text = _plain(entry.group(3))
        if entry.group(2) and _FLAG.fullmatch(text.strip("\"'")) is not None:
            value = self._item(index + 1, entry.group(1))
            if value and not value.strip("\"'").startswith("-"):
                self._read_words(f"{text} {value}", index + 1)
                return index + 2
        self._read_words(text, index + 1)
        return index + 1

    def _item(self, index: int, indent: str) -> str:
        """The item of a list in that line and at that depth; empty where there is none."""
        entry = _ENTRY.match(self._lines[index]) if index < len(self._lines) else None
        if entry is None or entry.group(1) != indent or not entry.group(2):
            return ""
        return _plain(entry.group(3))

    def _read_key(self, indent: int, key: str, value: str, line: int) -> None:
        if key == "name" and _VARIABLE.fullmatch(value.strip("\"'")) is not None:
            self._named = (indent, value.strip("\"'"))
        elif key == "value" and self._named is not None and self._named[0] == indent:
            self._document.add(self._named[1], known_value(value), line, SettingKind.VARIABLE)
            self._named = None
        elif not value or value.lower() in _NULLS:
            return  # A variable that is null is not set.
        elif _VARIABLE.fullmatch(key) is not None:
            self._document.add(key, known_value(value), line, SettingKind.VARIABLE)
        elif value[:1] in "[{":
            self._read_words(value, line)
        else:
            note_programs(self._document, f"{key}: {value}")
            path = ".".join(name for _, name in self._path)
            note_file_keys(self._document, "yaml", path)
            self._document.add(path, known_value(value), line, SettingKind.OPTION)

    def _read_words(self, value: str, line: int) -> None:
        """Words of a command: an item of a list, or a list in one line."""
        note_programs(self._document, value)
        for pattern in (_FLOW_NAMED, _FLOW_PAIR) if value[:1] in "[{" else ():
            for found in pattern.finditer(value):
                said = known_value(found["value"].strip())
                self._document.add(found["name"], said, line, SettingKind.VARIABLE)
        words = split_words(value.translate(_FLOW) if value[:1] in "[{" else value)
        plain = [word if " " in word else word.strip("\"'") for word in words]
        read_words(self._document, plain, line, certain=True)

    def _body(self, start: int, indent: int) -> Iterator[tuple[int, str]]:
        """Numbered lines of a block scalar: those that are indented deeper than its key."""
        for index in range(start, len(self._lines)):
            line = self._lines[index]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                return
            yield index + 1, line


def _plain(value: str) -> str:
    """The value without its comment."""
    return _COMMENT.sub("", value).strip() if "#" in value else value.strip()
