"""From the source of a package to the texts that it prints, logs or puts on progress bars.

Source is parsed, never run. A text is a template: what a value fills in is `{}`.
"""

from __future__ import annotations

import ast
import re
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LEVELS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log"})
_LEVELS_ONCE = re.compile(r"(?:info|warning|debug|error)_(?:once|rank_?0|on_rank_?0)|log_dist")
_PRINTS = re.compile(r"print|.*(?:_print|print_)(?:rank_?0|main|on_rank_?0|once|master)?|c?echo")
_BARS = frozenset({"tqdm", "trange", "track", "progress_bar", "auto_tqdm", "tqdm_auto"})
_DESCRIBES = frozenset({"set_description", "set_description_str", "add_task"})
_LABELS = frozenset({"desc", "description", "title"})
_FIELD = re.compile(r"%(?:\([^)]*\))?[-+ #0]*\d*(?:\.\d+)?[sdrfgexi]|\{[^{}]*\}")
_LARGEST = 2_000_000
"""Bytes of one source file; larger ones are data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One text in a package.

    Attributes:
        kind: `print`, `log` or `bar`.
        text: as it is printed, with `{}` for what a value fills in.
        place: `module/file.py:function`; `line` in that file.
    """

    kind: str
    text: str
    place: str
    line: int


def read_wheel(path: Path) -> Iterator[Text]:
    """All texts of a wheel, by file and line; what cannot be parsed is left out."""
    with zipfile.ZipFile(path) as wheel:
        for member in sorted(wheel.namelist()):
            told = wheel.getinfo(member)
            if member.endswith(".py") and told.file_size <= _LARGEST:
                yield from read_source(wheel.read(member).decode("utf-8", "replace"), member)


def read_source(source: str, name: str) -> Iterator[Text]:
    """All texts of one file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    yield from _walk(tree, name, "<module>")


def _walk(node: ast.AST, name: str, function: str) -> Iterator[Text]:
    for child in ast.iter_child_nodes(node):
        inside = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = child.name
        elif isinstance(child, ast.Call):
            yield from _of_call(child, f"{name}:{function}")
        yield from _walk(child, name, inside)


def _of_call(call: ast.Call, place: str) -> Iterator[Text]:
    called = call.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    on_object = isinstance(called, ast.Attribute)
    labels = [k.value for k in call.keywords if k.arg in _LABELS]
    kind, shown = None, call.args[:1]
    if name in _BARS or (labels and name in {"map", "filter"}):
        kind, shown = "bar", labels
    elif name in _DESCRIBES:
        kind, shown = "bar", labels or call.args[:1]
    elif (on_object and name in _LEVELS) or _LEVELS_ONCE.fullmatch(name):
        kind = "log"
    elif _PRINTS.fullmatch(name):
        kind = "print"
    if kind is None:
        return
    for value in shown:
        text = _template(value)
        if text is not None and any(letter.isalpha() for letter in text):
            yield Text(kind=kind, text=text, place=place, line=call.lineno)


def _template(value: ast.expr) -> str | None:
    """The text of an expression, with `{}` for every value; None where it holds no text."""
    shown = _joined(value)
    return None if shown is None else " ".join(shown.split())


def _joined(value: ast.expr) -> str | None:
    match value:
        case ast.Constant(value=str(text)):
            return _FIELD.sub("{}", text)
        case ast.JoinedStr(values=parts):
            return "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in parts)
        case ast.BinOp(left=left, op=ast.Mod()):
            return _joined(left)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            ends = _joined(left), _joined(right)
            if ends == (None, None):
                return None
            return "".join("{}" if end is None else end for end in ends)
        case ast.Call(func=ast.Attribute(value=ast.Constant() as text, attr="format")):
            return _joined(text)
        case _:
            return None
