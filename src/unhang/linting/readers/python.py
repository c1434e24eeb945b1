"""From Python to settings: variables that a program sets or reads, keywords of its calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.linting.document import SettingKind, SettingsDocument

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_KEYWORDS = frozenset({"ddp_timeout"})
_SETTERS = frozenset({"setdefault", "putenv"})
_GETTERS = frozenset({"get", "getenv", "pop"})


def read_python(document: SettingsDocument, text: str) -> None:
    """Note the settings of a Python program; one that does not parse says nothing."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                if _is_environ(target.value):
                    _note(document, target.slice, value, node.lineno)
            case ast.Assign(targets=[target], value=ast.Dict() as value):
                _read_dict(document, _name(target), value)
            case ast.keyword(arg=str() as name, value=ast.Dict() as value):
                _read_dict(document, name, value)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(value, ast.Dict):
                        _read_dict(document, _text(key) or "", value)
            case ast.Call():
                _read_call(document, node)
            case ast.Subscript(ctx=ast.Load()) if _is_environ(node.value):
                document.reads.update(_names(node.slice))


def _read_call(document: SettingsDocument, call: ast.Call) -> None:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else _name(call.func)
    if function in _SETTERS and len(call.args) == 2:
        _note(document, call.args[0], call.args[1], call.lineno)
    elif function in _GETTERS and call.args:
        document.reads.update(_names(call.args[0]))
    for keyword in call.keywords:
        if keyword.arg in _KEYWORDS and isinstance(keyword.value, ast.Constant):
            value = str(keyword.value.value)
            document.add(str(keyword.arg), value, keyword.value.lineno, SettingKind.OPTION)


def _read_dict(document: SettingsDocument, name: str, value: ast.Dict) -> None:
    """A dictionary of variables, if its name says so: `env_vars`, `runtime_env`."""
    if "env" not in name.lower():
        return
    for key, item in zip(value.keys, value.values, strict=True):
        if key is not None:
            _note(document, key, item, item.lineno)


def _note(document: SettingsDocument, key: ast.expr, value: ast.expr, line: int) -> None:
    for name in _names(key):
        # Where a program sets a variable, another may have run before: nothing is certain.
        document.add(name, _text(value), line, SettingKind.VARIABLE, certain=False)


def _names(key: ast.expr) -> Iterator[str]:
    text = _text(key)
    if text is not None and _VARIABLE.fullmatch(text) is not None:
        yield text


def _text(node: ast.expr | None) -> str | None:
    """A constant as text; None where it is computed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int)):
        return str(node.value)
    return None


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _is_environ(node: ast.expr) -> bool:
    return _name(node) in ("environ", "env", "envs")
