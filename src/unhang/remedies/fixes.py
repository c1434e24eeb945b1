"""From cures to fixes: each written in the framework's own syntax, for its release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unhang.model.diagnosis import Fix
from unhang.model.provenance import Message
from unhang.remedies.case import Case
from unhang.remedies.cures import Cure, Form, Framework, Recipe, Value, kind_of
from unhang.remedies.environment import by_shell
from unhang.remedies.frameworks import PLAIN, find_framework
from unhang.remedies.general import GENERAL
from unhang.remedies.plans import plan
from unhang.remedies.syntax import write_settings
from unhang.remedies.timeouts import lengthen
from unhang.settings import key_in
from unhang.settings.versions import covers

MOST = 5
"""Fixes for one verdict: a tired person reads no more."""

_VARIANTS = 2
"""Ways of one cure, where it is unknown which fits."""

_NO_SETTING = "# {framework} has no setting for this: change the training script.\n"
_UNKNOWN = "# Framework unknown, so plain PyTorch: `--framework NAME` gives its own setting.\n"

_PLAIN = "# {name} is written here as plain PyTorch.\n"


def write_fixes(case: Case) -> tuple[Fix, ...]:
    """The fixes for a case, the best first."""
    framework = find_framework(case.framework) or PLAIN
    cures = plan(case)
    own = [c for c in cures if c not in GENERAL and c is not Cure.LONGER_TIMEOUT]
    # A framework that drives the loop itself cannot be patched at every point: its own settings
    # come first, and plain PyTorch only stands in where it has none at all for this cause.
    lacks_all = not any(list(_fitting(case, framework, cure)) for cure in own)
    spare = frozenset(own) if framework.own_loop else frozenset(own[:1] if lacks_all else ())
    fixes = (fix for cure in cures for fix in _fixes(case, framework, cure, cure in spare))
    unique: dict[str, Fix] = {}
    for fix in fixes:
        unique.setdefault(fix.patch, fix)
    return tuple(unique.values())[:MOST]


def _fixes(case: Case, framework: Framework, cure: Cure, may_stand_in: bool) -> Iterator[Fix]:
    if cure is Cure.LONGER_TIMEOUT:
        yield from lengthen(case)
    elif (general := GENERAL.get(cure)) is not None:
        recipe = general(case)
        if recipe is not None:
            yield _fix(case, cure, framework, recipe)
    else:
        yield from _own(case, framework, cure, may_stand_in)


def _own(case: Case, framework: Framework, cure: Cure, may_stand_in: bool) -> Iterator[Fix]:
    """As the framework writes it, or as plain PyTorch does where it has no setting."""
    recipes = list(_fitting(case, framework, cure))
    note = _note(case) if framework is PLAIN else ""
    if not recipes and may_stand_in:
        recipes = list(_fitting(case, PLAIN, cure)) or list(PLAIN.cures[cure])
        note = note or _NO_SETTING.format(framework=framework.name)
    for recipe in recipes[:_VARIANTS]:
        yield _fix(case, cure, framework, recipe, note)


def _note(case: Case) -> str:
    """Why the answer is plain PyTorch."""
    if case.framework is None:
        return _UNKNOWN
    return "" if find_framework(case.framework) is PLAIN else _PLAIN.format(name=case.framework)


def _fitting(case: Case, framework: Framework, cure: Cure) -> Iterator[Recipe]:
    """Recipes for the release and for the way in which the model is spread."""
    version = case.torch if framework is PLAIN else case.version
    for recipe in framework.cures[cure]:
        if recipe.strategy is not None and case.strategy not in (None, recipe.strategy):
            continue
        if covers(version, recipe.since, recipe.last) is False:
            continue
        if not recipe.settings or _renamed(case, framework, recipe.settings) is not None:
            yield recipe
            if version is None and recipe.since is not None:
                return  # The newest way, where the release is unknown.


def _renamed(
    case: Case, framework: Framework, settings: Mapping[str, Value], prefix: str = ""
) -> dict[str, Value] | None:
    """Settings under the names of the release; None where one of them does not exist there."""
    versions = {name: version for name, (version, _) in case.incident.versions.items()}
    if case.version is not None:
        versions[framework.name] = case.version
    renamed: dict[str, Value] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            inner = _renamed(case, framework, value, f"{prefix}{key}.")
            if inner is None:
                return None
            renamed[key] = inner
            continue
        name = key_in(framework.name, f"{prefix}{key}", versions)
        if name is None:
            return None
        renamed[key if name == f"{prefix}{key}" else name] = value
    return renamed


def _fix(case: Case, cure: Cure, framework: Framework, recipe: Recipe, note: str = "") -> Fix:
    form, patch = _written(case, framework, recipe)
    commented = form in (Form.PYTHON, Form.YAML, Form.SHELL)
    return Fix(
        title=_title(cure, recipe, form),
        kind=kind_of(cure),
        framework=framework.name,
        where=form.value,
        patch=f"{note}{patch}" if commented else patch,
        reaches="all ranks" if not case.hosts or cure is not Cure.EXCLUDE_NODE else "one node",
        risk=Message(key=f"fix.{cure.value}.risk"),
        verify=Message(key=f"fix.{cure.value}.verify"),
    )


def _title(cure: Cure, recipe: Recipe, form: Form) -> Message:
    values = {"place": recipe.place or form.value, **recipe.told}
    if recipe.told:
        return Message(key=f"fix.{cure.value}.title.named", values=values)
    return Message(key=f"fix.{cure.value}.title", values=values)


def _written(case: Case, framework: Framework, recipe: Recipe) -> tuple[Form, str]:
    if recipe.text:
        return recipe.form, recipe.text
    settings = _renamed(case, framework, recipe.settings)
    assert settings is not None, "recipes with missing settings were left out"
    if recipe.form is Form.ENV:
        values = {name: str(value) for name, value in settings.items()}
        return (framework.environment or by_shell)(values)
    return recipe.form, write_settings(recipe.form, settings, recipe.call)
