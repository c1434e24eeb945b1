"""Settings of a program of people's own, which no framework's table knows.

`batch_size = 12` in a configuration in Python, `run.loader.batch_size` in a project's YAML, a flag
of a fork: what such a key does is read from its name alone. So it is changed only where the files
hold one key of that kind, the program's own default counts least, and what is shown says so.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

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
from unhang.model.diagnosis import Fix
from unhang.model.provenance import Message
from unhang.model.toml import load
from unhang.settings import family_of

_OWN = "{} is a key of the job's own program: its name alone says what it does"
_SHARE = re.compile(r"0?\.\d{1,6}")
_TOLD = re.compile(r"#\s*((?:micro|mini)?[ -]?batch[ -]size)\s*(?:[:,;(.].*)?$", re.IGNORECASE)
_SHORT = 3
_PARTS = re.compile(r"[._]")
_ORDER = (Language.SHELL, Language.YAML, Language.JSON, Language.TOML, Language.CODE)
"""What overrides what: a command line, a configuration, the defaults of a program."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What keys of one cure are called, and what happens to their values.

    Attributes:
        key: what the last part of a dotted key is called.
        never: what none of its parts is called: such a key is of something else.
        times: by what its value is multiplied.
        least: the smallest value that is written.
        first: which of several keys are meant rather than the others, the most telling first.
        keeps: the last part of the setting whose product with it stays the same.
    """

    key: re.Pattern[str]
    never: re.Pattern[str]
    times: float
    least: int
    first: tuple[re.Pattern[str], ...] = ()
    keeps: re.Pattern[str] | None = None

    def means(self, key: str) -> bool:
        """Whether a dotted key is one of these."""
        parts = _PARTS.split(key.lower())
        named = self.key.fullmatch(_last(key)) is not None
        return named and not any(map(self.never.fullmatch, parts))


@dataclass(frozen=True, slots=True)
class _Said:
    """One key with a whole number, and where it stands.

    Attributes:
        node: the value, where it is Python.
        alone: the file holds nothing but settings.
    """

    held: Held
    key: str
    value: int
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


def change_own_key(job: Job, fix: Fix) -> Job | None:
    """The job with a fix in a key of its own; None where it has none of that kind.

    Where the job holds a key by which the framework does the same, that one counts.

    Raises:
        Refusal: several may be meant, or there is no room in this direction.
    """
    kind = _kinds().get(fix.remedy)
    if kind is None or any(job.value(name) is not None for name in _theirs(fix)):
        return None
    known: set[str] = set()
    for framework in family_of(fix.framework):
        known.update(map(plain, framework.knobs))
        known.update(plain(key) for part in framework.accepts for key in part.releases)
        # What another program of the job compares with a framework's own key is that program's.
        known.update(map(plain, framework.mirrors.values()))
    said = [one for one in _said(job) if kind.means(one.key) and plain(one.key) not in known]
    chosen = _one(said, kind)
    if chosen is None:
        return None
    new = max(math.floor(chosen.value * kind.times), kind.least)
    if new == chosen.value:
        raise Refusal(f"{chosen.place} is already {chosen.value}")
    partner = _partner(job, chosen, kind)
    changed = _with(job, chosen, str(new))
    if partner is not None:
        times = -(-chosen.value // new)  # rounded up: the product may grow, and never shrinks
        now = next(one for one in _said(changed) if one.where == partner.where)
        changed = _with(changed, now, f"{partner.value * times}", times)
    return changed.remarked(_OWN.format(chosen.place))


def change_fork_key(job: Job, fix: Fix) -> tuple[Job, Fix] | None:
    """The job with another way of a cure by a key of a fork, and that way; None without one.

    A program made from a framework keeps the ends of its keys under roots of its own:
    `worker.rollout.share` of `actor.rollout.share`. Just one such key must be there.
    """
    recipes = [r for f in family_of(fix.framework) for r in f.recipes.get(fix.remedy, ())]
    for recipe in recipes:
        if recipe.title is None or len(recipe.changes) != 1:
            continue
        (change,) = recipe.changes
        name = plain(change.name)
        end = ".".join(("", *name.split(".")[-2:]))
        found = [
            (held, key, value)
            for held in job.documents
            for key, value in held.settings.items()
            if key.endswith(end) and key != name and "." in name
        ]
        if len(found) != 1 or change.digits is None or not _SHARE.fullmatch(found[0][2]):
            continue
        held, key, value = found[0]
        new = round(float(value) * change.times, change.digits)
        if held.owner is None or held.file.language is not Language.YAML:
            continue
        if change.least is not None and new < change.least:
            continue
        text = held.file.text
        text = yaml_editor.set_key(text, _spelled(text, key.split(".")), new)
        place = f"`{key}` ({held.file.path})"
        sentence = f"fix.{fix.remedy}"
        title = Message(key=f"{sentence}.title.{recipe.title}", values={"place": held.file.path})
        risk = fix.risk if recipe.risk is None else Message(key=f"{sentence}.risk.{recipe.risk}")
        changed = job.with_text(held, text).remarked(_OWN.format(place))
        return changed, replace(fix, title=title, risk=risk, patch=f"{key}={new}")
    return None


def _theirs(fix: Fix) -> Iterator[str]:
    """The keys by which the framework does what a fix does, in all spellings."""
    for framework in family_of(fix.framework):
        changes = [c for r in framework.recipes.get(fix.remedy, ()) for c in r.changes]
        for name in {change.name for change in changes}:
            yield name
            for knob in framework.knobs.values():
                if name in (knob.key, knob.renamed_to, *knob.spelled):
                    yield from (knob.key, *knob.spelled)


def _last(key: str) -> str:
    """The last part of a dotted key, by which its kind is told."""
    return key.rpartition(".")[2].lower()


def _one(said: Sequence[_Said], kind: _Kind) -> _Said | None:
    """The one that is meant; of one key in several files that which overrides the others."""
    best: dict[str, _Said] = {}
    for one in sorted(said, key=_rank):
        best.setdefault(_last(one.key), one)
    found = list(best.values())
    for first in kind.first:
        found = [o for o in found if first.search(o.key.lower())] or found
    if len(found) > 1:
        places = ", ".join(one.place for one in found)
        raise Refusal(f"{len(found)} keys may be meant ({places}): it is unknown which")
    if not found:
        return None
    only = found[0]
    # One of the same name in another section, which nothing overrides either.
    alike = (o for o in said if _rank(o) == _rank(only) and _last(o.key) == _last(only.key))
    twin = next((other for other in alike if other.key != only.key), None)
    if twin is not None:
        raise Refusal(f"2 keys may be meant ({only.place}, {twin.place}): it is unknown which")
    if only.held.owner is None:
        raise Refusal(f"it belongs in {only.held.file.path}: give that file too")
    return only


def _rank(said: _Said) -> tuple[int, bool]:
    """What overrides the others comes first."""
    language = said.held.file.language
    # A configuration written in Python overrides the defaults of the program that runs it.
    first = Language.YAML if language is Language.CODE and said.alone else language
    return _ORDER.index(first), not said.alone


def _partner(job: Job, chosen: _Said, kind: _Kind) -> _Said | None:
    """The setting whose product with it stays the same, in the same file."""
    if kind.keeps is None:
        return None
    found = [
        one
        for one in _said(job)
        if one.held.file.path == chosen.held.file.path and kind.keeps.fullmatch(_last(one.key))
    ]
    return found[0] if len(found) == 1 and found[0].value > 0 else None


def _said(job: Job) -> Iterator[_Said]:
    """All keys of the job's files that hold a whole number."""
    for held in job.documents:
        if held.tags and held.file.language is Language.JSON:
            continue  # DeepSpeed's own file.
        if held.file.language is Language.CODE:
            yield from _in_code(held)
        elif held.file.language in _ORDER:
            for key, value in held.settings.items():
                if value.isdecimal():
                    yield _Said(held, key, int(value))


def _in_code(held: Held) -> Iterator[_Said]:
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
            yield _Said(held, key, number, node, alone)
            told = _TOLD.search(lines[node.end_lineno - 1]) if node.end_lineno else None
            if told is not None and len(key) < _SHORT:
                # A letter says nothing, and its author does.
                yield _Said(held, re.sub("[ -]", "_", told[1].lower()), number, node, alone)


def _values(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The same with their values, whatever these are."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
                yield from _entries(value, name)
            case ast.ClassDef(body=body):
                for inner in body:
                    match inner:
                        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                            yield name, value
                        case _:
                            pass
            case _:
                pass
    for call in python_editor.calls(tree, {"add_argument"}):
        default = python_editor.argument(call, "default")
        names = [a.value for a in call.args if isinstance(a, ast.Constant)]
        long = [str(name) for name in names if str(name).startswith("--")]
        if default is not None and long:
            yield plain(long[0]), default


def _entries(node: ast.expr, *above: str) -> Iterator[tuple[str, ast.expr]]:
    """The dotted keys of a dictionary, and of those in it."""
    pairs: list[tuple[str, ast.expr]] = []
    match node:
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
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
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, other = _number(left), _number(right)
            return None if one is None or other is None else one * other
        case _:
            return None


def _with(job: Job, said: _Said, raw: str, times: int | None = None) -> Job:
    """The job with another value of a key, wherever it stands.

    Args:
        job: that says it.
        said: the key.
        raw: its new value.
        times: so many times the old one, which a product in Python stays: `5 * 8 * 2`.
    """
    held = said.held
    text, path = held.file.text, said.key.split(".")
    match held.file.language:
        case Language.YAML:
            new = yaml_editor.set_key(text, _spelled(text, path), int(raw))
        case Language.JSON:
            new = json_editor.set_key(text, path, int(raw))
        case Language.TOML:
            new = toml_editor.set_key(text, path, int(raw))
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


def _spelled(text: str, path: Sequence[str]) -> list[str]:
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


@cache
def _kinds() -> Mapping[str, _Kind]:
    """By remedy, from the data."""
    return {
        remedy: _Kind(
            key=re.compile(row["key"]),
            never=re.compile(row["never"]),
            times=row["times"],
            least=row["least"],
            first=tuple(re.compile(first) for first in row.get("first", ())),
            keeps=re.compile(row["keeps"]) if "keeps" in row else None,
        )
        for remedy, row in load("unhang.settings", "data/own_keys.toml").items()
    }
