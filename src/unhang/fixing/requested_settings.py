"""From a fix's patch to the settings that it wants, whatever file they are written into."""

from __future__ import annotations

import ast
import enum
import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from unhang import lazy_re as re
from unhang.fixing.refusal import Refusal
from unhang.model.diagnosis import Fix

_EXPORT = re.compile(r"export\s+([A-Za-z_]\w*)=(.*)")
_OVERRIDE = re.compile(r"(\+{0,2})([A-Za-z_][\w.]*)=(.*)", re.DOTALL)
_COMMENT = re.compile(r"\s#.*")


class Spelling(enum.Enum):
    """In which language a patch writes a setting."""

    KEY = "key"
    """A key of YAML, or a keyword of a constructor."""
    JSON = "json"
    FLAG = "flag"
    OVERRIDE = "override"
    """Hydra's and OmegaConf's `key=value`."""
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedSetting:
    """One setting that a fix wants.

    Attributes:
        path: from the outermost key inwards; one part where nothing is nested.
        value: as data; None is null, and of a flag that it has no value.
        raw: the value as the patch spells it, for command lines.
        prefix: Hydra's `+` or `++`.
        beside: lines of shell that belong to a variable.
        home: the path that tells whose file it belongs into, where the file spells it otherwise.
    """

    path: tuple[str, ...]
    value: Any
    spelling: Spelling
    raw: str = ""
    prefix: str = ""
    beside: tuple[str, ...] = ()
    home: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The dotted name."""
        return ".".join(self.path)


def read_requested_settings(fix: Fix) -> tuple[RequestedSetting, ...]:
    """Read the patch of a fix.

    Raises:
        Refusal: the patch is code or commands, which nobody but its author can put in place.
    """
    requests: tuple[RequestedSetting, ...] = ()
    try:
        match fix.where:
            case "yaml":
                requests = tuple(_keys(yaml.safe_load(fix.patch), Spelling.KEY))
            case "json":
                requests = tuple(_keys(json.loads(fix.patch), Spelling.JSON))
            case "cli":
                requests = tuple(_flags(shlex.split(fix.patch)))
            case "hydra":
                requests = tuple(_overrides(shlex.split(fix.patch)))
            case "env":
                requests = tuple(_variables(fix.patch))
            case "python":
                requests = tuple(_keywords(fix.patch))
            case _:
                pass
    except (ValueError, SyntaxError, yaml.YAMLError, RecursionError):
        requests = ()
    if not requests:
        if fix.where == "python":
            raise Refusal("it is Python code: put it in place by hand")
        raise Refusal("it consists of commands: put them in place by hand")
    return requests


def _keys(value: object, spelling: Spelling, *above: str) -> Iterator[RequestedSetting]:
    """The leaves of nested mappings."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _keys(inner, spelling, *above, str(key))
    elif above:
        yield RequestedSetting(path=above, value=value, spelling=spelling)


def _flags(words: list[str]) -> Iterator[RequestedSetting]:
    index = 0
    while index < len(words):
        word = words[index]
        if not word.startswith("--"):
            raise ValueError(word)
        name, sign, value = word.removeprefix("--").partition("=")
        index += 1
        raw: str | None = value if sign else None
        if raw is None and index < len(words) and not words[index].startswith("--"):
            raw, index = words[index], index + 1
        yield RequestedSetting(
            # Keys of a namespace may hold dots; where one is nested, the editor of TOML splits it.
            path=(name,),
            value=None if raw is None else _data(raw),
            raw="" if raw is None else raw,
            spelling=Spelling.FLAG,
        )


def _overrides(words: list[str]) -> Iterator[RequestedSetting]:
    for word in words:
        match = _OVERRIDE.fullmatch(word)
        if match is None:
            raise ValueError(word)
        prefix, name, raw = match.groups()
        path = tuple(name.split("."))
        yield RequestedSetting(
            path=path, value=_data(raw), raw=raw, prefix=prefix, spelling=Spelling.OVERRIDE
        )


def _variables(patch: str) -> Iterator[RequestedSetting]:
    """Exports; another line that names a variable belongs to its export."""
    lines = [line for line in patch.splitlines() if line.strip() and line[0] != "#"]
    others = [line for line in lines if _EXPORT.fullmatch(line) is None]
    for line in lines:
        match = _EXPORT.fullmatch(line)
        if match is not None:
            name, raw = match[1], _COMMENT.sub("", match[2]).strip()
            beside = tuple(other for other in others if name in other)
            yield RequestedSetting(
                path=(name,), value=raw, raw=raw, spelling=Spelling.VARIABLE, beside=beside
            )


def _keywords(patch: str) -> Iterator[RequestedSetting]:
    """`TrainingArguments(…)` is also a YAML of its keywords, `Trainer(…)` one of Lightning's CLI.

    Nothing comes of a patch that says more than such a call.
    """
    body = [s for s in ast.parse(patch).body if not isinstance(s, (ast.Import, ast.ImportFrom))]
    match body:
        case [ast.Assign(value=ast.Call() as call)] | [ast.Expr(value=ast.Call() as call)]:
            name = ast.unparse(call.func)
            if name == "TrainingArguments":
                yield from _arguments(call)
            elif name == "Trainer":
                yield from _arguments(call, "trainer")
        case _:
            pass


def _arguments(call: ast.Call, *above: str) -> Iterator[RequestedSetting]:
    if call.args:
        raise ValueError("positional arguments")
    for keyword in call.keywords:
        name = str(keyword.arg)
        value = keyword.value
        if isinstance(value, ast.Name) and value.id == name:
            continue  # `output_dir=output_dir`: the user's own.
        if isinstance(value, ast.Call) and (clock := _clock(value)) is not None:
            yield RequestedSetting(path=(*above, name), value=clock, spelling=Spelling.KEY)
        elif isinstance(value, ast.Call):
            class_path = f"lightning.pytorch.strategies.{ast.unparse(value.func)}"
            yield RequestedSetting(
                path=(*above, name, "class_path"), value=class_path, spelling=Spelling.KEY
            )
            yield from _arguments(value, *above, name, "init_args")
        else:
            yield from _keys(ast.literal_eval(value), Spelling.KEY, *above, name)


def _clock(call: ast.Call) -> str | None:
    """`timedelta(seconds=7200)` as jsonargparse reads it."""
    match call:
        case ast.Call(
            func=ast.Name(id="timedelta"),
            keywords=[ast.keyword(arg="seconds", value=ast.Constant(value=int(seconds)))],
        ):
            return f"{seconds // 3_600}:{seconds % 3_600 // 60:02d}:{seconds % 60:02d}"
        case _:
            return None


def _data(raw: str) -> Any:  # noqa: ANN401  a value of any type
    """A word of a command line as data."""
    return yaml.safe_load(raw) if raw else ""
