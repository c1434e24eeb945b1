"""A framework's recipe as settings: each value computed from the one in force."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from unhang.remedies.cures import PatchLanguage
from unhang.settings import Framework, family_of, frameworks
from unhang.settings.frameworks import RecipeRow
from unhang.settings.knobs import (
    Knob,
    KnobChange,
    NoChange,
    as_text,
    conflicts,
    lacks,
    same,
    work_out,
)
from unhang.settings.versions import covers

Versions = Mapping[str, str]
"""Releases by the name of a framework, as far as they are known."""

_LOADERS = "processes of each rank"

Held = Callable[[str], "str | None"]
"""The value that the user has set for a key, as text; None = not set, or not known."""


def recipes_of(framework: Framework, cure: str, versions: Versions) -> Iterator[RecipeRow]:
    """The ways in which a framework's release can do something, the best first.

    Where the release is unknown it is taken for the newest.
    """
    version = release_of(framework, versions)
    for recipe in framework.recipes.get(cure, ()):
        if version is None and recipe.last is not None:
            continue
        if covers(version, recipe.since, recipe.last) is not False:
            yield recipe


def settings_of(
    recipe: RecipeRow,
    framework: Framework,
    versions: Versions,
    held: Held,
    *,
    advised: bool = True,
    elsewhere: str | None = None,
) -> dict[str, Any]:
    """Compute what a recipe sets.

    Args:
        recipe: of `framework`, or of its kin.
        framework: whose configuration is changed, unless the recipe has an owner.
        versions: releases at hand.
        held: the user's values.
        advised: an example may stand in for what nobody knows; False = it goes into a file.
        elsewhere: what names a configuration that was not read: it may set what `held` lacks.

    Returns:
        Values by key, in the names of the release.

    Raises:
        NoChange: the release lacks a key, another setting forbids it, or nothing would change.
    """
    owner = frameworks()[recipe.owner or framework.name]
    if recipe.form == PatchLanguage.ENV.value:
        for change in recipe.changes:
            variable = owner.knobs.get(change.key)
            if variable is not None and (why := conflicts(variable, held, change.to)) is not None:
                raise NoChange(why)
        return {change.key: change.to for change in recipe.changes}
    held = _in_any_spelling(held, owner)
    values: dict[str, Any] = {}
    reasons: list[str] = []
    for change in recipe.changes:
        knob = knob_in(owner, change.name, versions)
        if knob is None and change.optional:
            continue
        if knob is None:
            raise NoChange(f"{owner.name} has no `{change.name}` in this release")
        beside = {c.key: as_text(c.to) for c in recipe.changes if c.constant and c is not change}
        why = conflicts(knob, lambda k, to=beside: to.get(k, held(k)), change.to)  # type: ignore[misc]
        if why is not None:
            if change.optional:
                continue
            raise NoChange(why)
        try:
            values.update(
                _changed(change, knob, versions, held, advised=advised, elsewhere=elsewhere)
            )
        except _AsItIs as reason:
            reasons.append(str(reason))
    if recipe.changes and values.keys() <= {c.key for c in recipe.changes if c.quiet}:
        raise NoChange("; ".join(dict.fromkeys(reasons)) or "nothing would change")
    if not advised:
        _check_needs(recipe, owner, versions, held, frozenset(values))
    return values


def _in_any_spelling(held: Held, owner: Framework) -> Held:
    """The user's value of a knob, under whichever of its names it is set."""
    others = {k.key: k.spelled for f in family_of(owner.name) for k in f.knobs.values()}

    def found(key: str) -> str | None:
        names = (key, *others.get(key, ()))
        return next((value for name in names if (value := held(name)) is not None), None)

    return found


class _AsItIs(NoChange):
    """One of several knobs stays as it is: the others may change."""


def _changed(
    change: KnobChange,
    knob: Knob,
    versions: Versions,
    held: Held,
    *,
    advised: bool,
    elsewhere: str | None,
) -> dict[str, Any]:
    """The new values of one change, under the names of the release."""
    if change.shown and not advised:
        raise NoChange(f"the value of `{change.name}` is yours to choose")
    if change.present and not advised:
        if not same(held(knob.key), change.to):
            raise NoChange(f"`{knob.key}` is not {change.to} here")
        return {}
    default = change.assume if change.assume is not None and advised else None
    if default is None:
        default = knob.default_in(release_of(frameworks()[knob.framework], versions))
    name = change.key if knob.key == change.name else knob.key
    name = next((other for other in knob.spelled if held(other) is not None), name)
    if elsewhere and not change.constant and held(name.lstrip("+")) is None:
        raise _AsItIs(f"`{name}` is not set here, and {elsewhere} may set it: give that file, too")
    try:
        new = work_out(change, held(name.lstrip("+")), default, held)
    except NoChange as reason:
        raise _AsItIs(str(reason)) from reason
    cpus = _cpus(held) if knob.unit == _LOADERS and change.times > 1 else None
    if cpus is not None and new.get(change.key, 0) > cpus:
        raise _AsItIs(f"`{change.name}`: the batch script gives each rank {cpus} CPUs only")
    low = _low(change, knob, versions, held)
    if low is not None and isinstance(new.get(change.key), (int, float)) and new[change.key] < low:
        keys = " and ".join(f"`{key}`" for key in change.above)
        shared = f" divided by `{change.above_per}`" if held(change.above_per or "") else ""
        raise _AsItIs(f"`{change.name}` cannot go below {low}, the sum of {keys}{shared}")
    partner = _without_refused(change, knob, versions, held, new)
    return {name if key == change.key else key: value for key, value in partner.items()}


def _without_refused(
    change: KnobChange, knob: Knob, versions: Versions, held: Held, new: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The new values without a partner that the settings in force forbid: its product shrinks."""
    other = knob_in(frameworks()[knob.framework], change.keeps or "", versions)
    if other is None or conflicts(other, held) is None:
        return new
    return {key: value for key, value in new.items() if key != change.keeps}


def _cpus(held: Held) -> int | None:
    """The CPUs that a batch script gives to each rank; None where it does not say."""
    given = held("cpus-per-gpu") or held("cpus-per-task")
    ranks = "1" if held("cpus-per-gpu") else held("nproc_per_node") or held("num_processes") or "1"
    nodes = held("num_machines") or held("nnodes") or "1"
    if given is None or not (given + ranks + nodes).isdigit():
        return None
    return int(given) * (1 if held("nproc_per_node") else int(nodes)) // int(ranks)


def _low(change: KnobChange, knob: Knob, versions: Versions, held: Held) -> int | None:
    """The sum below which a knob must not go; None where it has no such bound."""
    owner = frameworks()[knob.framework]
    total = 0
    for key in change.above:
        other = knob_in(owner, key, versions)
        default = None if other is None else other.default_in(release_of(owner, versions))
        text = held(key) or str(default)
        if not text.isdigit():
            return None
        total += int(text)
    sharers = held(change.above_per or "") or "1"
    return -(-total // max(int(sharers), 1)) if change.above and sharers.isdigit() else None


def _check_needs(
    recipe: RecipeRow, owner: Framework, versions: Versions, held: Held, new: frozenset[str]
) -> None:
    """What a knob needs may come with it, but for the knob itself."""
    for change in recipe.changes:
        knob = knob_in(owner, change.name, versions)
        if knob is None:
            continue
        others = new - {knob.key, change.key}
        missing = lacks(knob, lambda key, others=others: "set" if key in others else held(key))  # type: ignore[misc]
        if missing is not None:
            raise NoChange(missing)


def knob_in(framework: Framework, key: str, versions: Versions) -> Knob | None:
    """The knob that a release of a framework or of its family reads, under its name there."""
    for member in family_of(framework.name):
        version = release_of(member, versions)
        knob = member.knobs.get(key)
        if knob is not None and _has(knob, version):
            return knob
        for older in member.knobs.values():
            if knob is not None and older.renamed_to == key and _has(older, version):
                return older
    return None


def release_of(framework: Framework, versions: Versions) -> str | None:
    """The release at hand; the newest that was read where nobody tells."""
    return versions.get(framework.name) or framework.newest


def _has(knob: Knob, version: str | None) -> bool:
    return knob.last is None if version is None else knob.known_in(version) is not False


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as mappings within mappings.

    >>> nested({"a.b": 1, "a.c": 2, "d": 3})
    {'a': {'b': 1, 'c': 2}, 'd': 3}
    """
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *above, last = key.split(".")
        inner = tree
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return tree
