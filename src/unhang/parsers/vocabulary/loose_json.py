"""From lines of JSON, whole or damaged, to the objects in it, each as soon as it is closed.

Answers of tools are pretty-printed over many lines, cut off, or malformed (NCCL 2.28 forgets a
comma): here commas and colons mean nothing, a bracket that closes too much closes what it can, and
what is open at the end of the text is closed by `close`. Objects in lists are given, not kept, so
that the memory holds one of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from unhang import lazy_re as re

Scalar = str | int | float | bool | None
Object = dict[str, object]

_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\\n]|\\.){0,4000}")(?P<colon>\s*:)?|(?P<mark>[{}\[\]])'
    r"|(?P<number>-?\d{1,20}(?:\.\d{0,20})?(?:[eE][+-]?\d{0,3})?)|(?P<word>true|false|null)"
    r'|(?P<torn>"[^\n]{0,4000}\Z)'
)
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}
_DEEPEST = 32
_MOST_KEYS = 4_000
_LONGEST_REST = 4_100


class Closed(NamedTuple):
    """An object that has ended: `path` are the keys that lead to it, `value` its fields."""

    path: tuple[str, ...]
    value: Object


class _OpenContainer:
    """A container that has not ended."""

    __slots__ = ("fields", "key", "waiting")

    def __init__(self, key: str, fields: Object | None) -> None:
        self.key = key
        self.fields = fields
        self.waiting: str | None = None


class LooseJson:
    """Reads one text, piece by piece."""

    def __init__(self) -> None:
        self._stack: list[_OpenContainer] = []
        self._rest = ""

    def feed(self, text: str, *, goes_on: bool = False) -> Iterator[Closed]:
        """Read a line, or the next piece of one that was too long to be given at once.

        Args:
            text: the piece.
            goes_on: it continues the line before, perhaps inside a word.
        """
        yield from self._read(f"{self._rest}{'' if goes_on else chr(10)}{text}", last=False)

    def _read(self, text: str, *, last: bool) -> Iterator[Closed]:
        """Take the tokens of a text; unless it is the last, what touches its end is kept back."""
        end = len(text) + 1 if last else len(text.rstrip())
        place = 0
        for token in _TOKEN.finditer(text):
            if token.end() >= end and token["mark"] is None:
                break  # more of it, or the colon behind it, may come
            place = token.end()
            if token["mark"] is not None:
                yield from self._mark(token["mark"])
            elif token["colon"] is not None:
                self._name(_text(token["string"]))
            elif token["torn"] is None:
                self._value(_scalar(token))
        self._rest = text[place:][-_LONGEST_REST:]

    def close(self) -> Iterator[Closed]:
        """Close everything that is open, innermost first."""
        yield from self._read(self._rest, last=True)
        while self._stack:
            yield from self._end()

    def _objects(self) -> Iterator[Closed]:
        """The open objects, outermost first, each with the keys that lead to it."""
        keys: tuple[str, ...] | None = None
        for item in self._stack:
            if item.fields is not None:
                keys = () if keys is None else (*keys, item.key)
                yield Closed(keys, item.fields)

    def _mark(self, mark: str) -> Iterator[Closed]:
        if mark in "{[":
            self._begin(is_object=mark == "{")
            return
        is_object = mark == "}"
        if any((item.fields is not None) == is_object for item in self._stack):
            while (self._stack[-1].fields is not None) != is_object:
                yield from self._end()
            yield from self._end()

    def _begin(self, *, is_object: bool) -> None:
        if len(self._stack) >= _DEEPEST:
            self._stack.clear()
        above = self._stack[-1] if self._stack else None
        key = ""
        if above is not None:
            key = above.key if above.fields is None else above.waiting or ""
        opened = _OpenContainer(key, {} if is_object else None)
        if above is not None and above.fields is not None and len(above.fields) < _MOST_KEYS:
            above.fields[key] = opened.fields
            above.waiting = None
        self._stack.append(opened)

    def _end(self) -> Iterator[Closed]:
        if self._stack[-1].fields is not None:
            *_, innermost = self._objects()
            yield innermost
        self._stack.pop()

    def _name(self, key: str) -> None:
        if not self._stack:  # the line with the first brace was not given
            self._begin(is_object=True)
        if self._stack[-1].fields is not None:
            self._stack[-1].waiting = key

    def _value(self, value: Scalar) -> None:
        if not self._stack:
            return
        top = self._stack[-1]
        if top.fields is not None and top.waiting is not None and len(top.fields) < _MOST_KEYS:
            top.fields[top.waiting] = value
            top.waiting = None


def text_of(value: object) -> str:
    """A text, or "" for anything else."""
    return value if isinstance(value, str) else ""


def number_of(value: object) -> int | None:
    """A whole number, or None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def object_of(value: object) -> Object:
    """An object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _scalar(token: re.Match[str]) -> Scalar:
    if token["string"] is not None:
        return _text(token["string"])
    if token["word"] is not None:
        return _WORDS[token["word"]]
    digits = token["number"]
    try:
        return int(digits) if digits.lstrip("-").isdigit() else float(digits)
    except ValueError:  # an exponent without digits
        return None


def _text(quoted: str) -> str:
    try:
        loaded = json.loads(quoted)
    except ValueError:  # a control character, or a lone backslash
        return quoted[1:-1]
    return str(loaded)
