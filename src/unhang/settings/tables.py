"""From the package's JSON tables to typed rows: what is known of settings, with its sources."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from unhang.settings.versions import covers, parse_version


class Library(enum.Enum):
    """Who reads an environment variable."""

    NCCL = "nccl"
    TORCH = "torch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An environment variable that NCCL or PyTorch reads, or once read.

    Attributes:
        kind: `int`, `bool`, `enum`, `string` or `path`.
        since: first release that has it; None = as far back as is known.
        last: last release that has it; None = still there.
        ignored_since: release from which it is declared but consulted by nobody.
        renamed_to: what took its place.
        also_accepts: older name of the same setting.
        defaults: default by the release that brought it, oldest first.
        reader: the plugin that reads it, where it is not the library itself.
    """

    name: str
    library: Library
    kind: str
    about: str
    since: str | None = None
    last: str | None = None
    ignored_since: str | None = None
    renamed_to: str | None = None
    also_accepts: str | None = None
    default: str | None = None
    defaults: tuple[tuple[str, str], ...] = ()
    values: str | None = None
    documented: bool = False
    risk: str | None = None
    note: str | None = None
    reader: str | None = None
    source: str = ""

    def known_in(self, version: str | None) -> bool | None:
        """Whether that release of its library has it; None where the version is unknown."""
        return covers(version, self.since, self.last)

    def default_in(self, version: str | None) -> str | None:
        """The default of that release; the newest known one where the version is unknown."""
        asked = parse_version(version)
        if asked is None:
            return self.default
        fitting = [d for since, d in self.defaults if (parse_version(since) or ()) <= asked]
        return fitting[-1] if fitting else self.default


class NameKind(enum.Enum):
    """Why a name is none that NCCL or PyTorch reads."""

    MYTH = "myth"
    """Nobody ever read it."""
    MISSPELLING = "misspelling"
    OBSOLETE = "obsolete"
    """Documented once, read by no release that can be checked."""
    PLUGIN = "plugin"
    """Read by a network plugin only."""
    FRAMEWORK = "framework"
    """Read by one framework only."""
    ADVICE = "advice"
    """No name of a setting at all: advice that circulates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherName:
    """A name in circulation that neither NCCL nor PyTorch reads.

    Attributes:
        use: what to use in its place.
        advice: the sentence about it, `advice.<advice>` in the catalogue.
        reader: who does read it.
        framework: the framework in whose context the name circulates.
    """

    name: str
    kind: NameKind
    source: tuple[str, ...]
    use: str | None = None
    advice: str | None = None
    reader: str | None = None
    about: str | None = None
    framework: str | None = None


class Reach(enum.Enum):
    """What a timeout knob governs."""

    WORLD = "default_pg"
    SUBGROUPS = "subgroups"
    STORE = "store"
    RENDEZVOUS = "rendezvous"


class KnobStatus(enum.Enum):
    """Whether a knob does what its name says."""

    EFFECTIVE = "effective"
    PARTIAL = "partial"
    """Works in some set-ups only."""
    IGNORED = "ignored"
    """It is accepted, and nobody reads it."""
    ABSENT = "absent"
    """There is none: the source must be edited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadRange:
    """Releases in which a knob is silently without effect.

    Attributes:
        when: the other framework with which it is dead (`deepspeed`); None = always.
        unless: the other framework with which it works nevertheless.
        advice: the sentence about it, `advice.<advice>` in the catalogue.
        use: what to set in its place; `{value}` stands for the value.
    """

    why: str
    since: str | None = None
    last: str | None = None
    when: str | None = None
    unless: str | None = None
    advice: str | None = None
    use: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeEdit:
    """How one keyword in a program of the user's own is changed.

    Attributes:
        calls: functions and classes, by the last part of their name; or
        assigned: the name of a dictionary on the module's level: a configuration in Python.
        path: the keyword; more than one part where dictionaries are nested in it.
        value: what is set, as Python; `{seconds}` and `{minutes}` stand for a timeout. Or
        times, least, most: how a number that stands there changes.
        append: the value is one item more of a list.
        when: what must stand there before, as a pattern of the source; else it may be missing.
        every: several such calls belong together; else one alone may be meant.
        otherwise: a statement for the end of a file that has none such, if it holds `marker`.
        before: a statement above the one that holds the call.
        imports: lines that the value needs.
    """

    calls: tuple[str, ...] = ()
    assigned: str = ""
    path: tuple[str, ...]
    value: str = ""
    times: float = 1.0
    least: int = 0
    most: int | None = None
    append: bool = False
    when: str = ""
    every: bool = False
    before: str = ""
    otherwise: str = ""
    marker: str = ""
    imports: tuple[str, ...] = ()


def read_edits(row: Mapping[str, Any]) -> tuple[CodeEdit, ...]:
    """The rows of `code` of a recipe or a knob."""
    return tuple(CodeEdit(**typed(edit)) for edit in row.get("code", ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutKnob:
    """One knob for the timeout of collectives.

    Attributes:
        where: `python`, `cli`, `yaml`, `env`, `hydra` or `shell` (a patch of the source).
        unit: `s`, `min`, `timedelta` or `clock` (H:MM:SS).
        patch: how it is written; `{seconds}`, `{minutes}`, `{clock}` stand for the value.
        variant: the strategy or stage that it is for, where a framework has one knob for each.
        code: how a program of the user's own is changed, the first that it calls for.
    """

    framework: str
    key: str
    where: str
    unit: str
    status: KnobStatus
    source: tuple[str, ...]
    reaches: frozenset[Reach]
    patch: str = ""
    default_s: int | None = None
    defaults: tuple[tuple[str, int], ...] = ()
    since: str | None = None
    last: str | None = None
    dead: tuple[DeadRange, ...] = ()
    variant: str | None = None
    note: str | None = None
    code: tuple[CodeEdit, ...] = ()

    def default_in(self, version: str | None) -> int | None:
        """Seconds that it has when nobody sets it; None where that depends on the release."""
        if not self.defaults:
            return self.default_s
        asked = parse_version(version)
        if asked is None:
            return None
        fitting = [d for since, d in self.defaults if (parse_version(since) or ()) <= asked]
        return fitting[-1] if fitting else None

    def dead_in(self, version: str | None, beside: frozenset[str]) -> DeadRange | None:
        """Why it is without effect in that release beside those frameworks, or None."""
        for dead in self.dead:
            if covers(version, dead.since, dead.last) is not True:
                continue
            if (dead.when is None or dead.when in beside) and dead.unless not in beside:
                return dead
        return None

    def at_least(self, seconds: int) -> int:
        """The shortest timeout that it can say, of those that last so long."""
        return -(-seconds // 60) * 60 if "{minutes}" in self.patch else seconds

    def write(self, seconds: int) -> str:
        """The patch for a timeout of that many seconds."""
        hours, rest = divmod(seconds, 3_600)
        clock = f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
        values = {"{seconds}": seconds, "{minutes}": -(-seconds // 60), "{clock}": clock}
        text = self.patch
        for token, value in values.items():
            text = text.replace(token, str(value))
        return text


@cache
def variables(library: Library) -> Mapping[str, Setting]:
    """Every environment variable of a library, by name."""
    table = _read(f"{library.value}.json")
    rows = (typed(row) for row in table["variables"])
    return {row["name"]: Setting(library=library, **row) for row in rows}


@cache
def other_names() -> Mapping[str, OtherName]:
    """Names in circulation that neither NCCL nor PyTorch reads."""
    rows = _read("names.json")["names"]
    return {row["name"]: OtherName(**{**typed(row), "kind": NameKind(row["kind"])}) for row in rows}


def typed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with tuples in place of lists."""
    return {key: _tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def _tuple(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(v) if isinstance(v, list) else v for v in values)


def _read(name: str) -> dict[str, Any]:
    text = (files("unhang.settings") / "data" / name).read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
