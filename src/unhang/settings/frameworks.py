"""From one data file per framework (`data/frameworks/*.json`) to what is known of it.

A file holds the framework's names and aliases, its log marks, the programs that start it, how deep
it wraps others, the knobs of its releases (written by `tools/knobs`), the knobs of its time-outs
and its recipes. Nothing else in the package knows a framework by its name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from unhang import lazy_re as re
from unhang.settings.accepted import AcceptedKeys
from unhang.settings.knobs import Knob, KnobChange, KnobCondition, KnobRelease
from unhang.settings.tables import (
    CodeEdit,
    DeadRange,
    KnobStatus,
    Reach,
    TimeoutKnob,
    read_edits,
    typed,
)

PLAIN = "torch"
"""The framework whose recipes stand in for every other's."""

_INNERMOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeRow:
    """How one cure is written for one framework, as its file says it.

    Attributes:
        form: language of the patch: `yaml`, `json`, `cli`, `hydra`, `python`, `env`, `shell`.
        place: where the user writes it, in technical words: `ds_config.json`.
        changes: what happens to which knobs; or
        text: the patch itself, where it is more than settings.
        call: the constructor whose keyword arguments the settings are (Python only).
        owner: the framework whose file it goes into, where that is another one.
        strategy: only for jobs sharded in this way; where the way is unknown, for all.
        phase: only where the job failed in this phase.
        since, last: releases of the framework for which it holds (knobs have their own).
        risk: the sentence `fix.<cure>.risk.<risk>`, where the general one does not fit.
        title: likewise, of what is done: `fix.<cure>.title.<title>`.
        code: how a program of the user's own is changed, the first that it calls for.
    """

    form: str
    place: str = ""
    changes: tuple[KnobChange, ...] = ()
    text: str = ""
    call: str = ""
    owner: str | None = None
    strategy: str | None = None
    phase: str | None = None
    since: str | None = None
    last: str | None = None
    risk: str | None = None
    title: str | None = None
    code: tuple[CodeEdit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """One framework, or another program that trains.

    Attributes:
        name: as in `--framework`.
        layer: how deep it lies among wrappers: the smallest is what the user configures.
        family: whose keys it takes over.
        component: its name in version reports.
        packages: releases of which the knobs are read, the newest first, by package.
        makes_group: it makes the process group itself, before those below it.
        overtakes: frameworks inside it whose own time-out comes too late.
        launches: its program starts other frameworks' scripts.
        kin: frameworks of the same word take each other's flags.
        shards: the way in which it spreads a model.
        refuses: settings of others with which it does not work.
        own_loop: the training loop is the user's script: what the framework lacks is written there.
        data_apart: a driver that no rank waits for in a collective reads the data set.
        copies_data: every process reads the whole data set before the first step, and keeps it.
        environment: how variables reach its ranks: `shell`, `env-file`, `ray-job`, `ray-init`.
        command: what `environment` starts.
        programs: words of a command line that name it; `program_pattern` does, too.
        config_keys: keys of its YAML, outermost or one below; `own_keys` are nobody else's.
        file_keys: by suffix, keys that only a file for this framework itself has.
        accepts: parts of its own files, each with the keys that its releases take there.
        command_line: how it takes a key of its YAML there: `flag`, `override`, or not at all.
        mirrors: keys of its own file that the Trainer compares with its arguments.
        mirrored_by: an argument that shows that settings are the Trainer's; loops of people's own
            take it as a flag, too, but read no YAML.
        misnamed: outermost keys that people take for its own, with what it calls them; empty = it
            has no such thing.
        strange: flags of loops of people's own, which take some of its flags and not all.
        toml_last: the last release that reads TOML; None = none does.
        positional: by a name for it, what a command line says without a flag: `recipe`.
        configured_by: options and positionals of its command line that name a configuration.
        constructors: classes whose keywords are its settings in a program, with the key above them.
        recipes: by cure, each possibly without any; empty for programs that have no remedies.
    """

    name: str
    layer: int = _INNERMOST
    aliases: tuple[str, ...] = ()
    family: str | None = None
    component: str = ""
    packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own_loop: bool = False
    copies_data: bool = False
    data_apart: bool = False
    makes_group: bool = False
    overtakes: frozenset[str] = frozenset()
    launches: bool = False
    kin: str | None = None
    shards: str | None = None
    refuses: frozenset[str] = frozenset()
    environment: str = "shell"
    command: str = ""
    programs: tuple[str, ...] = ()
    program_pattern: re.Pattern[str] | None = None
    config_keys: frozenset[str] = frozenset()
    own_keys: frozenset[str] = frozenset()
    file_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    accepts: tuple[AcceptedKeys, ...] = ()
    command_line: str | None = None
    mirrors: Mapping[str, str] = field(default_factory=dict)
    mirrored_by: str = ""
    misnamed: Mapping[str, str] = field(default_factory=dict)
    strange: frozenset[str] = frozenset()
    toml_last: str | None = None
    positional: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    knobs: Mapping[str, Knob] = field(default_factory=dict)
    timeouts: tuple[TimeoutKnob, ...] = ()
    configured_by: tuple[str, ...] = ()
    constructors: Mapping[str, str] = field(default_factory=dict)
    recipes: Mapping[str, tuple[RecipeRow, ...]] = field(default_factory=dict)
    marks: tuple[Mapping[str, Any], ...] = ()
    fingerprints: tuple[Mapping[str, Any], ...] = ()

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases of which the knobs are read, the newest first."""
        return tuple(release for found in self.packages.values() for release in found)

    @property
    def newest(self) -> str | None:
        """The newest of them; None where no package is read."""
        return next(iter(self.releases), None)


@cache
def frameworks() -> Mapping[str, Framework]:
    """Every framework by its name, the outermost first."""
    folder = files("unhang.settings") / "data" / "frameworks"
    rows = [json.loads(p.read_text(encoding="utf-8")) for p in folder.iterdir()]
    found = [_framework(row) for row in rows]
    return {f.name: f for f in sorted(found, key=lambda f: (f.layer, f.name))}


def find_framework(name: str | None) -> Framework | None:
    """The framework of that name or alias, if it has remedies; None where it is unknown to us."""
    if name is None:
        return None
    found = _by_any_name().get(name.lower())
    return found if found is not None and found.recipes else None


def family_of(name: str | None) -> tuple[Framework, ...]:
    """A framework and those whose keys it takes over, the nearest first."""
    chain: list[Framework] = []
    found = frameworks().get(name or "")
    while found is not None:
        chain.append(found)
        found = frameworks().get(found.family or "")
    return tuple(chain)


def in_family(name: str | None, family: str) -> bool:
    """Whether a framework is, or takes over the keys of, that other one."""
    return any(f.name == family for f in family_of(name))


def find_knob(name: str | None, key: str) -> Knob | None:
    """A knob of a framework or of its family, under its present name.

    >>> find_knob("trl", "save_steps").framework
    'transformers'
    """
    for framework in family_of(name):
        if key in framework.knobs:
            return framework.knobs[key]
    return None


@cache
def _by_any_name() -> Mapping[str, Framework]:
    found = frameworks()
    aliases = {alias: f for f in found.values() for alias in f.aliases}
    return {**aliases, **{name: f for name, f in found.items() if f.recipes}}


def _framework(row: Mapping[str, Any]) -> Framework:
    name = row["name"]
    return Framework(
        name=name,
        layer=row.get("layer", _INNERMOST),
        aliases=tuple(row.get("aliases", ())),
        family=row.get("family"),
        component=row.get("component", name),
        packages={name: tuple(found) for name, found in row.get("packages", {}).items()},
        own_loop=row.get("own_loop", False),
        copies_data=row.get("copies_data", False),
        data_apart=row.get("data_apart", False),
        makes_group=row.get("makes_group", False),
        overtakes=frozenset(row.get("overtakes", ())),
        launches=row.get("launches", False),
        kin=row.get("kin"),
        shards=row.get("shards"),
        refuses=frozenset(row.get("refuses", ())),
        environment=row.get("environment", "shell"),
        command=row.get("command", ""),
        programs=tuple(row.get("programs", ())),
        program_pattern=re.compile(pattern) if (pattern := row.get("program_pattern")) else None,
        config_keys=frozenset(row.get("config_keys", ())),
        own_keys=frozenset(row.get("own_keys", ())),
        file_keys={suffix: tuple(keys) for suffix, keys in row.get("file_keys", {}).items()},
        accepts=tuple(AcceptedKeys.from_row(part) for part in row.get("accepts", ())),
        command_line=row.get("command_line"),
        mirrors=row.get("mirrors", {}),
        mirrored_by=row.get("mirrored_by", ""),
        misnamed=row.get("misnamed", {}),
        strange=frozenset(row.get("strange", ())),
        toml_last=row.get("toml_last"),
        configured_by=tuple(row.get("configured_by", ())),
        constructors=row.get("constructors", {}),
        positional={key: re.compile(pattern) for key, pattern in row.get("positional", {}).items()},
        knobs={knob["key"]: _knob(name, knob) for knob in row.get("knobs", ())},
        timeouts=tuple(_timeout(name, knob) for knob in row.get("timeouts", ())),
        recipes={
            cure: tuple(_recipe(recipe) for recipe in recipes)
            for cure, recipes in row.get("recipes", {}).items()
        },
        marks=tuple(row.get("marks", ())),
        fingerprints=tuple(row.get("fingerprints", ())),
    )


def _knob(framework: str, row: Mapping[str, Any]) -> Knob:
    fields = typed(row)
    for name in ("needs", "excludes", "ignored_under"):
        fields[name] = tuple(
            KnobCondition(
                key=c["key"],
                values=frozenset(c.get("values", ())),
                at=frozenset(c.get("at", ())),
                multiple_of=c.get("multiple_of", ""),
                refused=c.get("refused", False),
                why=c.get("why", ""),
            )
            for c in row.get(name, ())
        )
    fields["releases"] = tuple(
        KnobRelease(release=release, found=cell is not None, default=cell and cell[0],
                    place=cell[1] if cell else "")
        for release, cell in row.get("releases", {}).items()
    )  # fmt: skip
    return Knob(framework=framework, **fields)


def _timeout(framework: str, row: Mapping[str, Any]) -> TimeoutKnob:
    fields = typed(row)
    fields["variant"] = fields.pop("for", None)
    fields["status"] = KnobStatus(row["status"])
    fields["reaches"] = frozenset(Reach(name) for name in row["reaches"])
    fields["dead"] = tuple(DeadRange(**dead) for dead in row.get("dead", ()))
    fields["code"] = read_edits(row)
    return TimeoutKnob(framework=framework, **fields)


def _recipe(row: Mapping[str, Any]) -> RecipeRow:
    fields = dict(row)
    fields["text"] = "\n".join(row.get("text", ()))
    fields["changes"] = tuple(_change(change) for change in row.get("changes", ()))
    fields["code"] = read_edits(row)
    return RecipeRow(**fields)


def _change(row: Mapping[str, Any]) -> KnobChange:
    fields = {**row, "above": tuple(row.get("above", ()))}
    if "set" in fields:
        fields["to"] = fields.pop("set")
        fields["constant"] = True
    return KnobChange(**fields)
