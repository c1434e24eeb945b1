"""Keys and values that a Python configuration or training script writes down; it is never run."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any

_MOST_CHARACTERS = 1 << 20
_UNKNOWN = object()


def keys_of(text: str) -> dict[str, Any]:
    """Values by dotted keys: of assignments, and of calls by function and keyword.

    `a.b = 2` is `a.b`, `f(x=3)` is `f.x`, its first argument `f.0`; `f.called` holds the name of
    the function. What is computed is left out, and so is a name that is bound twice.

    Raises:
        ValueError: it is no Python.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ValueError("expected at most 1 MB of Python")
    try:
        tree = ast.parse(text)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(str(error) or "it nests too deep") from error
    names: dict[str, object] = {}
    for target, node in _assignments(tree):
        names[target] = _value(node, names) if target not in names else _UNKNOWN
    found = {name: value for name, value in names.items() if value is not _UNKNOWN}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (function := _dotted(call.func)) not in ("", "dict"):
            found[f"{function}.called"] = function.rsplit(".", 1)[-1]
            found |= {f"{function}.{k}": v for k, v in _arguments(call, names).items()}
    return found


def cells(text: str) -> str:
    """The Python of a notebook's cells.

    Raises:
        ValueError: it is no notebook.
    """
    try:
        sources = ["".join(cell["source"]) for cell in json.loads(text)["cells"]
                   if cell["cell_type"] == "code"]  # fmt: skip
    except (KeyError, TypeError) as error:
        raise ValueError("expected the cells of a notebook") from error
    lines = "\n".join(sources).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("!", "%")))


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from ((name, node.value) for t in node.targets if (name := _dotted(t)))
        elif isinstance(node, ast.AnnAssign) and node.value and (name := _dotted(node.target)):
            yield name, node.value


def _value(node: ast.expr, names: Mapping[str, object]) -> object:
    """A constant, a name's value, a list, or a mapping: a dict, or detectron2's `L(f)(x=3)`."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id, _UNKNOWN)
    if isinstance(node, ast.List | ast.Tuple):
        values = [_value(each, names) for each in node.elts]
        return _UNKNOWN if any(value is _UNKNOWN for value in values) else values
    if isinstance(node, ast.Dict):
        pairs = [(key.value, value) for key, value in zip(node.keys, node.values, strict=True)
                 if isinstance(key, ast.Constant)]  # fmt: skip
    elif isinstance(node, ast.Call):
        if _dotted(node.func) not in ("dict", ""):
            return _UNKNOWN  # its arguments are found by the function's name
        return _arguments(node, names)
    else:
        return _UNKNOWN
    return {str(key): v for key, each in pairs if (v := _value(each, names)) is not _UNKNOWN}


def _arguments(call: ast.Call, names: Mapping[str, object]) -> dict[str, object]:
    given = [("0", each) for each in call.args[:1]]
    given += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
    return {key: v for key, each in given if (v := _value(each, names)) is not _UNKNOWN}


def _dotted(node: ast.expr) -> str:
    """`a.b.c` of a chain of names; what is called on a call's result begins there."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))
