"""What the files of a job say with whole numbers, whoever reads it, and how that changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from unhang import lazy_re as re
from unhang.fixing.config_file import Language
from unhang.fixing.editors import json as json_editor
from unhang.fixing.editors import python as python_editor
from unhang.fixing.editors import shell as shell_editor
from unhang.fixing.editors import toml as toml_editor
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.job import Held, Job, plain
from unhang.fixing.refusal import Refusal

_TOLD = re.compile(r"#\s*((?:micro|mini)?[ -]?batch[ -]size)\s*(?:[:,;(.].*)?$", re.IGNORECASE)
_SHORT = 3
_CONFIGURES = re.compile(r"(?:get|make|default|base)_config")
"""What functions are called that put a configuration together: those of ml_collections."""

_STARTS = frozenset({"main", "train", "run", "finetune", "fit"})
"""What functions are called whose arguments `fire`, `typer` and others make flags of."""

_LOADERS = frozenset({"DataLoader", "StatefulDataLoader"})
_MAPPINGS = frozenset({"dict", "d", "ConfigDict", "EasyDict", "edict", "SimpleNamespace"})
ORDER = (Language.SHELL, Language.YAML, Language.JSON, Language.TOML, Language.CODE)
"""What overrides what: a command line, a configuration, the defaults of a program."""


@dataclass(frozen=True, slots=True)
class Said:
    """One key with a whole number, and where it stands.

    Attributes:
        node: the value, where it is Python.
        alone: the file holds nothing but settings.
    """

    held: Held
    key: str
    value: int | bool
    node: ast.expr | None = None
    alone: bool = True

    @property
    def where(self) -> tuple[str, str]:
        """What it stays the same by when its file changes."""
        return self.key, self.held.file.path

    @property
    def place(self) -> str:
        """How a reader finds it."""
        line = "" if self.node is None else f":{self.node.lineno}"
        return f"`{self.key}` ({self.held.file.path}{line})"


def said_in(job: Job) -> Iterator[Said]:
    """All keys of the job's files that hold a whole number."""
    for held in job.documents:
        if held.tags and held.file.language is Language.JSON:
            continue  # DeepSpeed's own file.
        if held.file.language is Language.CODE:
            yield from _in_code(held)
        elif held.file.language in ORDER:
            for key, value in held.settings.items():
                if value.isdecimal():
                    yield Said(held, key, int(value))
                elif value.lower() in ("true", "false"):
                    yield Said(held, key, value.lower() == "true")


def _in_code(held: Held) -> Iterator[Said]:
    """Constants of the module, defaults of arguments and of fields, entries of dictionaries."""
    try:
        tree = python_editor.parse(held.file.text)
    except Refusal:
        return
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While)
    alone = not any(isinstance(node, defined) for node in ast.walk(tree))
    lines = held.file.text.split("\n")
    for key, node in _values(tree):
        if (number := _number(node)) is not None:
            yield Said(held, key, number, node, alone)
            told = _TOLD.search(lines[node.end_lineno - 1]) if node.end_lineno else None
            if told is not None and len(key) < _SHORT:
                # A letter says nothing, and its author does.
                yield Said(held, re.sub("[ -]", "_", told[1].lower()), number, node, alone)


def _values(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The same with their values, whatever these are."""
    for statement in tree.body:
        match statement:
            case ast.ClassDef(body=body):
                for inner in body:
                    if isinstance(inner, ast.AnnAssign) and inner.value is not None:
                        yield ast.unparse(inner.target), _default(inner.value)
            case ast.FunctionDef(name=name, body=body) if _CONFIGURES.fullmatch(name):
                yield from _assigned(body)
            case ast.FunctionDef(name=name, args=arguments) if name in _STARTS:
                yield from _defaults(arguments)
            case _:
                yield from _assigned([statement])
    yield from _declared(tree)


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a function that have a default."""
    spread = [None] * (len(arguments.args) - len(arguments.defaults))
    defaults = (*spread, *arguments.defaults, *arguments.kw_defaults)
    named = (*arguments.args, *arguments.kwonlyargs)
    for argument, default in zip(named, defaults, strict=True):
        if default is not None:
            yield argument.arg, default


def _declared(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The defaults of flags: of argparse, click and absl."""
    for call in python_editor.calls(tree, {"add_argument", "option"}):
        default = python_editor.argument(call, "default")
        names = [a.value for a in call.args if isinstance(a, ast.Constant)]
        long = [str(name) for name in names if str(name).startswith("--")]
        if default is not None and long:
            yield plain(long[0]), default
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as call):
                yield from _of_loader(ast.unparse(target), call)
            case ast.FunctionDef(name=name, body=[*_, ast.Return(value=ast.Call() as call)]):
                yield from _of_loader(name, call)
            case _:
                pass
    for call in python_editor.calls(tree, {"DEFINE_integer"}):
        match call.args:
            case [ast.Constant(value=str(name)), default, *_]:
                yield plain(name), default
            case _:
                pass


def _of_loader(name: str, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The batch of a loader, under the name that the loader has."""
    size = python_editor.argument(call, "batch_size")
    if size is not None and python_editor.called(call) in _LOADERS:
        yield f"{name}.batch_size", size


def _assigned(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """`batch_size = 4`, and `config.data.batch_size = 4` as `data.batch_size`."""
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                name = ast.unparse(target)
                name = name if isinstance(target, ast.Name) else name.partition(".")[2]
                yield name, value
                yield from _entries(value, name)
            case _:
                pass


def _default(value: ast.expr) -> ast.expr:
    """What `field(default=4)` of a data class stands for."""
    if isinstance(value, ast.Call) and python_editor.called(value) in ("field", "Field"):
        return python_editor.argument(value, "default") or value
    return value


def _entries(node: ast.expr, *above: str) -> Iterator[tuple[str, ast.expr]]:
    """The dotted keys of a dictionary, and of those in it."""
    pairs: list[tuple[str, ast.expr]] = []
    match node:
        case ast.Call(keywords=keywords) if python_editor.called(node) in _MAPPINGS:
            pairs = [(k.arg, k.value) for k in keywords if k.arg is not None]
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant):
                    pairs.append((str(key.value), value))
        case _:
            pass
    for name, value in pairs:
        yield ".".join((*above, name)), value
        yield from _entries(value, *above, name)


def _number(node: ast.expr) -> int | None:
    """A whole number, or a product of such: `5 * 8`."""
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, other = _number(left), _number(right)
            return None if one is None or other is None else one * other
        case _:
            return None


def with_value(job: Job, said: Said, raw: str, times: int | None = None) -> Job:
    """The job with another value of a key, wherever it stands.

    Args:
        job: that says it.
        said: the key.
        raw: its new value.
        times: so many times the old one, which a product in Python stays: `5 * 8 * 2`.
    """
    held = said.held
    text, path = held.file.text, said.key.split(".")
    value = raw == "true" if raw in ("true", "false") else int(raw)
    if isinstance(value, bool) and held.file.language in (Language.CODE, Language.SHELL):
        raw = str(value) if held.settings.get(said.key, "T")[:1].isupper() else raw
    match held.file.language:
        case Language.YAML:
            new = yaml_editor.set_key(text, spelled(text, path), value)
        case Language.JSON:
            new = json_editor.set_key(text, path, value)
        case Language.TOML:
            new = toml_editor.set_key(text, path, value)
        case Language.CODE:
            assert said.node is not None, "it is Python"
            old = python_editor.source_of(text, said.node)
            computed = times is not None and isinstance(said.node, ast.BinOp)
            new = python_editor.replace(text, said.node, f"{old} * {times}" if computed else raw)
        case _ if re.search(rf"--{said.key.replace('_', '[-_]')}\b", text):
            new = shell_editor.set_flag(text, said.key, raw, "", newline=held.file.newline)
        case _ if re.search(rf"(?<![\w.-]){re.escape(said.key)}=", text):
            new = shell_editor.set_override(text, said.key, raw, "", newline=held.file.newline)
        case _:
            raise Refusal(f"the place of `{said.key}` is too complex to change safely")
    return job.with_text(held, new)


def spelled(text: str, path: Sequence[str]) -> list[str]:
    """A path as the file spells it; keys are compared with `-` as `_`.

    Raises:
        Refusal: it is not there: the key stands in a list, or in a text within.
    """
    node: yaml.Node | None = yaml_editor.parse(text)
    found: list[str] = []
    for name in path:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        pair = next(((k, v) for k, v in pairs if plain(str(k.value)) == name), None)
        if pair is None:
            raise Refusal(f"the place of `{'.'.join(path)}` is too complex to change safely")
        found.append(str(pair[0].value))
        node = pair[1]
    return found
