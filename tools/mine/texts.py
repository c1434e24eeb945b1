"""From the source of a package to the texts that it prints, logs or puts on progress bars.

Source is parsed, never run. A text is a template: what a value fills in is `{}`.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_LEVELS = re.compile(
    r"(?:log_?)?(?:debug|info|warn|warning|error|critical|exception|log|success|notice)"
    r"(?:_?(?:once|main|rank_?(?:0|zero)|on_rank_?0|single_rank|all|dist))*"
)
_LOGS = re.compile(
    r"(?:rank_?(?:0|zero)|master|main|once)_?(?:log|info|warn|warning|debug|deprecation)"
    r"|(?:log|info|warn|warning|debug|error)_?(?:once|dist|(?:on_)?(?:all_)?rank_?(?:0|zero|s)?"
    r"|single_rank|single|main|master)|log_on_each_pipeline_stage|log"
)
_PRINTS = re.compile(
    r"print|rprint|pprint|.*(?:_print|print_)\w*|print0|printr|c?echo|secho|puts|status|write"
)
_WRITERS = frozenset({"stdout", "stderr", "tqdm"})
_BARS = frozenset({"tqdm", "trange", "track", "progress_bar", "auto_tqdm", "tqdm_auto", "pbar"})
_BARS_SAY = frozenset({"set_description", "set_description_str", "add_task"})
_LABELS = frozenset({"desc", "description", "title"})
_FIELD = re.compile(r"%(?:\([^)]*\))?[-+ #0]*\d*(?:\.\d+)?[sdrfgexi]|\{[^{}]*\}")
_PERCENT = re.compile(r"%\.?\d*[sdf](?!\w)")
_TROUBLE = re.compile(r"warn|error|critical|exception|deprecat")
_LARGEST = 2_000_000
"""Bytes of one source file; larger ones are data."""
_UNRUN = re.compile(r"(?:^|/)(?:tests?|testing|test_\w+|\w+_test|conftest|docs?|ci)(?:/|\.py|$)")
_FIRST = 3
"""Arguments of a call among which its text is: a logger or a level may stand first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One text in a package.

    Attributes:
        kind: `print`, `log`, `trouble` (a warning or an error) or `bar`.
        text: as it is printed, with `{}` for what a value fills in.
        file, function, line: where it stands; the function with what it is defined in.
    """

    kind: str
    text: str
    file: str
    function: str
    line: int


def read_folder(root: Path) -> Iterator[Text]:
    """All texts of an unpacked package, by file and line, but those of its tests."""
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if _UNRUN.search(name) is None and path.stat().st_size <= _LARGEST:
            yield from read_source(path.read_text(encoding="utf-8", errors="replace"), name)


def read_source(source: str, name: str) -> Iterator[Text]:
    """All texts of one file; none where it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    yield from _walk(tree, name, "", {})


def _walk(node: ast.AST, name: str, function: str, named: dict[str, str]) -> Iterator[Text]:
    for child in ast.iter_child_nodes(node):
        inside, texts = function, named
        match child:
            case ast.FunctionDef(name=own) | ast.AsyncFunctionDef(name=own):
                inside, texts = f"{function}.{own}".lstrip("."), dict(named)
            case ast.ClassDef(name=own):
                inside = f"{function}.{own}".lstrip(".")
            case ast.Assign(targets=[ast.Name(id=variable)], value=value):
                text = _joined(value, named)
                if text is not None:
                    named[variable] = text
            case ast.Call():
                yield from _of_call(child, name, function or "<module>", named)
            case _:
                pass
        yield from _walk(child, name, inside, texts)


def _of_call(call: ast.Call, name: str, function: str, named: Mapping[str, str]) -> Iterator[Text]:
    kind, shown = _shown(call)
    for value in shown:
        text = " ".join((_joined(value, named) or "").split())
        if any(letter.isalpha() for letter in text.replace("{}", "")):
            yield Text(kind=kind, text=text, file=name, function=function, line=call.lineno)
            return


def _shown(call: ast.Call) -> tuple[str, list[ast.expr]]:
    """How a call shows a text, and the arguments that may be it."""
    called = call.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    owner = (
        getattr(called.value, "attr", getattr(called.value, "id", ""))
        if isinstance(called, ast.Attribute)
        else None
    )
    labels = [k.value for k in call.keywords if k.arg in _LABELS]
    if name in _BARS or (labels and name in {"map", "filter"}):
        return "bar", labels
    if name in _BARS_SAY:
        return "bar", labels or call.args[:1]
    if (owner is not None and _LEVELS.fullmatch(name)) or _LOGS.fullmatch(name):
        return ("trouble" if _TROUBLE.search(name) else "log"), call.args[:_FIRST]
    if name == "write" and owner not in _WRITERS:
        return "", []
    if _PRINTS.fullmatch(name):
        return "print", call.args[:_FIRST]
    return "", []


def _joined(value: ast.expr, named: Mapping[str, str]) -> str | None:
    """The text of an expression, with `{}` for every value; None where it holds no text."""
    match value:
        case ast.Constant(value=str(text)):
            return _FIELD.sub("{}", text)
        case ast.JoinedStr(values=parts):
            return "".join(
                _PERCENT.sub("{}", str(p.value)) if isinstance(p, ast.Constant) else "{}"
                for p in parts
            )
        case ast.Name(id=variable):
            return named.get(variable)
        case ast.BinOp(left=left, op=ast.Mod()):
            return _joined(left, named)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            ends = _joined(left, named), _joined(right, named)
            return (
                None
                if ends == (None, None)
                else "".join(e if e is not None else "{}" for e in ends)
            )
        case ast.Call(func=ast.Attribute(value=text, attr="format")):
            return _joined(text, named)
        case _:
            return None
