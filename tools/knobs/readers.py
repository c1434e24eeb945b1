"""From the sources of a released package to its settings: parsed, never imported."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_ABSENT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One setting as a release declares it.

    Attributes:
        default: as data where it is a literal, else the expression as text.
        place: file and line below the package's root.
    """

    key: str
    type: str
    default: Any
    place: str
    choices: tuple[Any, ...] = ()


def read(root: Path, source: Mapping[str, Any]) -> Iterator[Read]:
    """Yield the settings of one entry of a framework's `read` list.

    Args:
        root: the folder of an unpacked release.
        source: `as` (a key of `READERS`), `files` (globs), and what that reader takes.
    """
    reader = READERS[source["as"]]
    for pattern in source["files"]:
        for path in sorted(root.glob(pattern)):
            place = str(path.relative_to(root))
            for found in reader(path.read_text(encoding="utf-8"), place, source):
                key = f"{source.get('prefix', '')}{found.key}"
                if source.get("dashes"):
                    key = key.replace("_", "-")
                yield Read(
                    key=key,
                    type=found.type,
                    default=found.default,
                    place=found.place,
                    choices=found.choices,
                )


def _classes(text: str, place: str, source: Mapping[str, Any]) -> Iterator[Read]:
    """Annotated fields of dataclasses and pydantic models."""
    wanted = source.get("classes")
    for name, node in _nested(ast.parse(text), ""):
        if wanted is None or name in wanted:
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    yield _field(field, place)


def _nested(node: ast.AST, above: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """Every class with its dotted name."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.ClassDef):
            yield f"{above}{inner.name}", inner
            yield from _nested(inner, f"{above}{inner.name}.")
        elif not isinstance(inner, ast.expr):
            yield from _nested(inner, above)


def _field(field: ast.AnnAssign, place: str) -> Read:
    default: Any = _ABSENT
    choices: tuple[Any, ...] = _literals(field.annotation)
    name = field.target.id if isinstance(field.target, ast.Name) else ""
    match field.value:
        case None:
            pass
        case ast.Call(func=func) as call if ast.unparse(func).rpartition(".")[2] in (
            "field",
            "Field",
            "HfArg",
        ):
            named = {k.arg: k.value for k in call.keywords}
            if "default" in named:
                default = _value(named["default"])
            elif "default_factory" in named:
                default = _made(named["default_factory"])
            elif call.args:
                default = _value(call.args[0])
            alias = named.get("alias")
            if isinstance(alias, ast.Constant):
                name = str(alias.value)
            metadata = _value(named["metadata"]) if "metadata" in named else None
            if isinstance(metadata, dict):
                choices = tuple(metadata.get("choices", choices))
        case value:
            default = _value(value)
    return Read(
        key=name,
        type=ast.unparse(_plain_type(field.annotation)),
        default=None if default is _ABSENT else default,
        place=f"{place}:{field.lineno}",
        choices=choices,
    )


def _plain_type(node: ast.expr) -> ast.expr:
    """The type within `Annotated[type, …]`, whatever short name that was imported by."""
    match node:
        case ast.Subscript(value=ast.Name(id="A" | "Annotated"), slice=ast.Tuple(elts=[first, *_])):
            return first
        case _:
            return node


def _arguments(text: str, place: str, _: Mapping[str, Any]) -> Iterator[Read]:
    """Calls of `add_argument` with a long flag."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("add_argument"):
            continue
        named = {k.arg: k.value for k in node.keywords}
        action = _value(named["action"]) if "action" in named else None
        default: Any = {"store_true": False, "store_false": True}.get(str(action))
        if "default" in named:
            default = _value(named["default"])
        chosen = _value(named["choices"]) if "choices" in named else ()
        for word in node.args:
            flag = _value(word)
            if isinstance(flag, str) and flag.startswith("--"):
                yield Read(
                    key=flag.removeprefix("--"),
                    type="flag" if action in ("store_true", "store_false") else _type_of(named),
                    default=default,
                    place=f"{place}:{node.lineno}",
                    choices=tuple(chosen) if isinstance(chosen, (list, tuple)) else (),
                )


def _type_of(named: Mapping[str | None, ast.expr]) -> str:
    return ast.unparse(named["type"]) if "type" in named else "str"


def _signatures(text: str, place: str, source: Mapping[str, Any]) -> Iterator[Read]:
    """Parameters of functions, or of classes' constructors."""
    for owner in ast.walk(ast.parse(text)):
        if isinstance(owner, ast.ClassDef) and owner.name in source["classes"]:
            for node in owner.body:
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    yield from _parameters(node, place)
        elif isinstance(owner, ast.FunctionDef) and owner.name in source.get("functions", ()):
            yield from _parameters(owner, place)


def _parameters(node: ast.FunctionDef, place: str) -> Iterator[Read]:
    plain = [*node.args.posonlyargs, *node.args.args]
    missing = [None] * (len(plain) - len(node.args.defaults))
    pairs = [
        *zip(plain, [*missing, *node.args.defaults], strict=True),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    for argument, default in pairs:
        yield Read(
            key=argument.arg,
            type="" if argument.annotation is None else ast.unparse(argument.annotation),
            default=None if default is None else _value(default),
            place=f"{place}:{argument.lineno}",
            choices=_literals(argument.annotation),
        )


def _yaml(text: str, place: str, _: Mapping[str, Any]) -> Iterator[Read]:
    """The leaves of a YAML, by their dotted path."""
    yield from _leaves(yaml.compose(text, Loader=yaml.SafeLoader), place, ())


def _leaves(node: yaml.Node | None, place: str, above: tuple[str, ...]) -> Iterator[Read]:
    if isinstance(node, yaml.MappingNode) and node.value:
        for key, value in node.value:
            yield from _leaves(value, place, (*above, str(key.value)))
    elif node is not None and above:
        empty = isinstance(node, yaml.ScalarNode) and not node.value and node.style is None
        value = None if empty else yaml.safe_load(yaml.serialize(node, Dumper=yaml.SafeDumper))
        kind = type(value).__name__ if value is not None else "any"
        yield Read(
            key=".".join(above),
            type=kind,
            default=value,
            place=f"{place}:{node.start_mark.line + 1}",
        )


def _used(text: str, place: str, source: Mapping[str, Any]) -> Iterator[Read]:
    """Names of constants that code reads from a mapping: `cfg.get("x", 1)`, `X = "x"`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str) and source.get("assigned"):
                yield Read(
                    key=node.value.value, type="", default=None, place=f"{place}:{node.lineno}"
                )
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in source.get("of", ()):
            yield Read(key=node.attr, type="", default=None, place=f"{place}:{node.lineno}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owned = ast.unparse(node.func.value) in source.get("of", ())
            if owned and node.func.attr == "get" and node.args:
                key = _value(node.args[0])
                default = _value(node.args[1]) if len(node.args) > 1 else None
                yield Read(key=str(key), type="", default=default, place=f"{place}:{node.lineno}")


def _value(node: ast.expr) -> Any:  # noqa: ANN401  whatever the literal is
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return ast.unparse(node)


def _made(node: ast.expr) -> Any:  # noqa: ANN401  whatever the factory makes
    text = ast.unparse(node)
    if isinstance(node, ast.Lambda):
        return _value(node.body)
    return {"list": [], "dict": {}, "set": []}.get(text, f"{text}()")


def _literals(node: ast.expr | None) -> tuple[Any, ...]:
    """The choices of the first `Literal[…]` within an annotation."""
    if node is None:
        return ()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Subscript) and ast.unparse(inner.value).endswith("Literal"):
            found = _value(inner.slice)
            return tuple(found) if isinstance(found, tuple) else (found,)
    return ()


def _words(text: str, place: str, source: Mapping[str, Any]) -> Iterator[Read]:
    """Words that a file of code holds as texts: keys that it writes or asks for."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and node.value in source["words"]:
            yield Read(key=str(node.value), type="", default=None, place=f"{place}:{node.lineno}")


READERS: Mapping[str, Callable[[str, str, Mapping[str, Any]], Iterator[Read]]] = {
    "classes": _classes,
    "arguments": _arguments,
    "signatures": _signatures,
    "yaml": _yaml,
    "used": _used,
    "words": _words,
}
"""How a package declares its settings, by the word in the data file."""
