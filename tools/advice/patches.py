"""Every patch of every cause, framework and release, on values on both sides of the defaults."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from unhang.fixing.refusal import Refusal
from unhang.fixing.requested_settings import read_requested_settings
from unhang.model.causes import Cause
from unhang.model.diagnosis import Fix
from unhang.model.incident import Incident
from unhang.model.phases import Phase
from unhang.remedies.context import GroupKind, RemedyContext, Sharding
from unhang.remedies.fixes import write_fixes
from unhang.remedies.recipes import knob_in, recipes_of, settings_of
from unhang.settings import Framework, frameworks
from unhang.settings.frameworks import RecipeRow
from unhang.settings.knobs import KnobChange, NoChange, as_text, same

PHASES = (None, Phase.SAVE, Phase.EVAL, Phase.DATA, Phase.LOAD)
PLACEHOLDER = re.compile(r"/(?:local|shared|path/to)\b|<[a-z_]+>|\{0+\.\.|YOUR_|\bMODEL\b")


@dataclass(frozen=True, kw_only=True)
class Patch:
    """One patch as advised, or as written over one configuration.

    Attributes:
        settings: what the configuration holds afterwards, by dotted key.
        base: what it held before; None for a patch as advised.
        written: what the patch sets.
        text: the patch, where it is code or commands.
    """

    framework: str
    release: str | None
    cause: str
    strategy: str
    remedy: str
    form: str
    owner: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    base: Mapping[str, Any] | None = None
    written: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    kind: str = "settings"

    @property
    def identity(self) -> str:
        """The same for patches that ask the same question of one release."""
        parts = (self.form, self.owner, self.strategy)
        body = json.dumps([self.settings, self.written, self.text], default=str, sort_keys=True)
        return "|".join(map(str, parts)) + body

    @property
    def shown(self) -> str:
        """In one line, for a report."""
        if self.text:
            return self.text.splitlines()[0]
        return " ".join(f"{k}={as_text(v)}" for k, v in self.written.items())


def advised(
    framework: Framework, release: str | None
) -> Iterator[tuple[Cause, RemedyContext, Fix]]:
    """Every fix of every cause for one release."""
    seen: set[tuple[str, str]] = set()
    for cause, strategy, phase in itertools.product(Cause, Sharding, PHASES):
        case = RemedyContext(
            cause=cause,
            framework=framework.name,
            version=release,
            strategy=strategy,
            phase=phase,
            group=GroupKind.WORLD,
            expired_s=1_800,
            incident=Incident(),
        )
        for fix in write_fixes(case):
            if (fix.where, fix.patch) not in seen:
                seen.add((fix.where, fix.patch))
                yield cause, case, fix


def patches(framework: Framework, release: str | None) -> Iterator[Patch]:
    """Patches as advised, then as written over configurations."""
    for cause, case, fix in advised(framework, release):
        yield from _advised(framework, release, cause, case, fix)
    versions = {} if release is None else {framework.name: release}
    for cure in framework.recipes:
        for recipe in recipes_of(framework, cure, versions):
            if recipe.changes and recipe.form != "env":
                yield from _written(framework, release, cure, recipe, versions)


def _advised(
    framework: Framework, release: str | None, cause: Cause, case: RemedyContext, fix: Fix
) -> Iterator[Patch]:
    assert case.strategy is not None
    known = [
        r
        for r in recipes_of(framework, fix.remedy, {framework.name: release} if release else {})
        if r.form == fix.where and (r.text == fix.patch or r.changes)
    ]
    owner = known[0].owner if known and known[0].owner else framework.name
    common: dict[str, Any] = {
        "framework": framework.name,
        "release": release,
        "cause": cause.value,
        "strategy": case.strategy.value,
        "remedy": fix.remedy or "longer_timeout",
        "form": fix.where,
        "owner": owner,
    }
    own = bool(known) or not fix.remedy
    if not own:
        kind = "general" if fix.remedy not in framework.recipes else "plain"
        yield Patch(**common, text=fix.patch, kind=kind)
        return
    try:
        wishes = read_requested_settings(fix)
    except Refusal:
        yield Patch(**common, text=fix.patch, kind="code")
        return
    if any(wish.path[0] == "trainer" for wish in wishes) and fix.where == "python":
        yield Patch(**common, text=fix.patch, kind="code")
        return
    settings = {wish.name: wish.value for wish in wishes}
    kind = "variables" if fix.where == "env" else "settings"
    yield Patch(**common, settings=settings, written=settings, kind=kind, text="")


def _written(
    framework: Framework, release: str | None, cure: str, recipe: RecipeRow, versions: Any  # noqa: ANN401
) -> Iterator[Patch]:  # fmt: skip
    owner = frameworks()[recipe.owner or framework.name]
    for base in _configurations(owner, recipe, versions):
        held = _Held(base)
        try:
            new = settings_of(
                recipe,
                framework,
                versions,
                held,
                advised=False,
            )
        except NoChange:
            continue
        yield Patch(
            framework=framework.name,
            release=release,
            cause="",
            strategy=recipe.strategy or "ddp",
            remedy=cure,
            form=recipe.form,
            owner=owner.name,
            base=base,
            settings={**base, **{k.lstrip("+"): v for k, v in new.items()}},
            written=new,
        )


class _Held:
    """The values of a configuration, as text."""

    def __init__(self, base: Mapping[str, Any]) -> None:
        self._base = {key.replace("-", "_"): as_text(value) for key, value in base.items()}

    def __call__(self, key: str) -> str | None:
        return self._base.get(key.replace("-", "_"))


def _configurations(
    owner: Framework, recipe: RecipeRow, versions: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """What a user may have set: nothing, less and more than the default, far more, one."""
    yield {}
    ways: list[list[tuple[str, Any]]] = []
    for change in recipe.changes:
        knob = knob_in(owner, change.key.lstrip("+"), versions)
        if knob is None:
            continue
        default = knob.default_in(versions.get(knob.framework))
        values = _values(change, default)
        if change.divides:
            values += [6, 9, 5]  # Halves that are none, and a prime.
        elif change.digits is None and not change.constant and "float" in knob.type:
            values += [0.1, 0.25, 0.5]  # Counts that may be shares of the whole.
        ways.append([(knob.key, value) for value in values])
    for way in itertools.zip_longest(*ways):
        given = dict(pair for pair in way if pair is not None)
        if given:
            yield given


def _values(change: KnobChange, default: Any) -> list[Any]:  # noqa: ANN401
    if change.constant:
        if isinstance(change.to, bool):
            return [change.to, not change.to]
        if change.assume is not None:
            return [change.assume, change.to]
        return [] if change.to is None or change.present else [change.to]
    if change.digits is not None:
        return [0.3, 0.9]
    number = default if isinstance(default, (int, float)) and default > 0 else change.assume or 4
    return [max(1, int(number) // 4), int(number), int(number) * 8 + 1, 1]


def problem(patch: Patch) -> str | None:
    """What is wrong with a patch that anybody can see: no-op, wrong way, placeholder."""
    text = patch.text or " ".join(as_text(v) for v in patch.written.values())
    if patch.kind == "settings" and PLACEHOLDER.search(text):
        return "placeholder"
    if patch.base is None:
        return None
    owner = frameworks()[patch.owner]
    recipes = frameworks()[patch.framework].recipes[patch.remedy]
    changes = {c.key.lstrip("+"): c for r in recipes for c in r.changes}
    versions = {} if patch.release is None else {patch.framework: patch.release}
    moved = False
    for key, new in patch.written.items():
        plain = key.lstrip("+")
        knob = knob_in(owner, plain, versions)
        old = patch.base.get(plain)
        if old is None and knob is not None:
            old = knob.default_in(versions.get(knob.framework))
        moved = moved or not same(None if old is None else as_text(old), new, flag=new is None)
        change = changes.get(plain)
        numbers = isinstance(old, (int, float)) and isinstance(new, (int, float))
        if change is None or change.constant or not numbers or old is None or old <= 0:
            continue
        if (new > old) != (change.times > 1):
            return f"wrong way: {key} {old} -> {new}"
        if old < 1 <= new:
            return f"wrong way: {key} {old}, a share -> {new}, a count"
        if change.divides and change.keeps is None and old % new:
            return f"wrong way: {key} {old} -> {new}, which does not divide it"
    return None if moved else "no-op"


def words(patch: Patch) -> list[str]:
    """The settings as a command line of overrides."""
    return [
        f"{key}={_override(value)}" for key, value in {**patch.settings, **patch.written}.items()
    ]


def _override(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, list):
        return "[" + ",".join(value) + "]"
    return "null" if value is None else shlex.quote(str(value))


__all__ = ["Patch", "patches", "problem", "words"]
