"""From cures to fixes: each written in the framework's own syntax, for its release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unhang.model.diagnosis import Fix
from unhang.model.events import SettingSeen
from unhang.model.provenance import Message
from unhang.remedies.context import RemedyContext
from unhang.remedies.cures import Cure, PatchLanguage, Recipe, kind_of
from unhang.remedies.environment import spell
from unhang.remedies.general import GENERAL
from unhang.remedies.plans import plan
from unhang.remedies.recipes import Versions, nested, recipes_of, settings_of
from unhang.remedies.syntax import write_settings
from unhang.remedies.timeouts import lengthen
from unhang.settings import Framework, find_framework, frameworks
from unhang.settings.frameworks import PLAIN, RecipeRow
from unhang.settings.knobs import NoChange
from unhang.settings.lookup import bare

MOST = 5
"""Fixes for one verdict: a tired person reads no more."""

_VARIANTS = 2
"""Ways of one cure, where it is unknown which fits."""

_NO_SETTING = "# {framework} has no setting for this: change the training script.\n"
_UNKNOWN = "# Framework unknown, so plain PyTorch: `--framework NAME` gives its own setting.\n"

_PLAIN = "# {name} is written here as plain PyTorch.\n"


def write_fixes(case: RemedyContext) -> tuple[Fix, ...]:
    """The fixes for a case, the best first."""
    return _FixWriter(case).fixes()


def versions_of(case: RemedyContext) -> Versions:
    """The releases of the frameworks at hand, by framework."""
    told = {name: version for name, (version, _) in case.incident.versions.items()}
    versions = {f.name: told[f.component] for f in frameworks().values() if f.component in told}
    if case.torch is not None:
        versions[PLAIN] = case.torch
    if case.framework is not None and case.version is not None:
        versions[case.framework] = case.version
    return versions


class _FixWriter:
    """Writes the fixes of one case."""

    def __init__(self, case: RemedyContext) -> None:
        self._case = case
        self._plain = frameworks()[PLAIN]
        self._framework = find_framework(case.framework) or self._plain
        self._versions = versions_of(case)
        self._seen = {
            bare(e.name).replace("-", "_"): e.value for e in case.incident.all(SettingSeen)
        }

    def fixes(self) -> tuple[Fix, ...]:
        cures = plan(self._case)
        own = [c for c in cures if c not in GENERAL and c is not Cure.LONGER_TIMEOUT]
        # A framework that drives the loop itself cannot be patched at every point: its own
        # settings come first, and plain PyTorch only stands in where it has none at all for this
        # cause.
        lacks_all = not any(list(self._own(self._framework, cure)) for cure in own)
        loop = self._framework.own_loop
        spare = frozenset(own) if loop else frozenset(own[:1] if lacks_all else ())
        unique: dict[str, Fix] = {}
        for cure in cures:
            for fix in self._fixes(cure, cure in spare):
                unique.setdefault(fix.patch, fix)
        return tuple(unique.values())[:MOST]

    def _fixes(self, cure: Cure, may_stand_in: bool) -> Iterator[Fix]:
        if cure is Cure.LONGER_TIMEOUT:
            yield from lengthen(self._case)
        elif (general := GENERAL.get(cure)) is not None:
            recipe = general(self._case)
            if recipe is not None and not (recipe.device_only and self._case.by_gloo):
                yield self._general(cure, recipe)
        else:
            written = list(self._own(self._framework, cure))
            if not written and may_stand_in and not self._framework.recipes.get(cure.value):
                # Only where the table shows that there is no setting: one that is in force
                # already, or that this job cannot use, is not a missing one.
                written = list(self._own(self._plain, cure))
            yield from written[:_VARIANTS]

    def _own(self, framework: Framework, cure: Cure) -> Iterator[Fix]:
        """As a framework writes it, for the release and for the way the model is spread.

        What is written for the phase at hand leaves no room for what helps in others: loader
        processes do nothing for a data set that is still tokenised.
        """
        fitting = [r for r in recipes_of(framework, cure.value, self._versions) if self._fits(r)]
        of_phase = [r for r in fitting if r.phase is not None]
        if cure is Cure.FASTER_DATA and self._case.before_training:
            fitting = []  # No loader exists yet.
        for recipe in of_phase or fitting:
            try:
                values = settings_of(recipe, framework, self._versions, self._held)
            except NoChange:
                continue
            if recipe.text or values:
                yield self._of_recipe(cure, framework, recipe, values)

    def _fits(self, recipe: RecipeRow) -> bool:
        strategy, phase = self._case.strategy, self._case.phase
        if recipe.phase is not None and (phase is None or phase.value != recipe.phase):
            return False
        return recipe.strategy is None or strategy is None or strategy.value == recipe.strategy

    def _held(self, key: str) -> str | None:
        return self._seen.get(bare(key).replace("-", "_"))

    def _of_recipe(
        self, cure: Cure, framework: Framework, recipe: RecipeRow, values: Mapping[str, Any]
    ) -> Fix:
        form = PatchLanguage(recipe.form)
        patch = recipe.text
        if not patch and form is PatchLanguage.ENV:
            form, patch = spell(self._framework, {k: str(v) for k, v in values.items()})
        elif not patch:
            if form is PatchLanguage.PYTHON:
                # Keywords of the constructor, below which a configuration nests them.
                values = {k.removeprefix(f"{recipe.call.lower()}."): v for k, v in values.items()}
            deep = form in (PatchLanguage.YAML, PatchLanguage.JSON, PatchLanguage.PYTHON)
            patch = write_settings(form, nested(values) if deep else values, recipe.call)
        return self._fix(
            cure, form, patch, place=recipe.place, risk=recipe.risk, title=recipe.title,
            note=self._note(framework),
        )  # fmt: skip

    def _note(self, written_for: Framework) -> str:
        """Why the answer is plain PyTorch, where it is."""
        if written_for is not self._plain:
            return ""
        if self._framework is not self._plain:
            return _NO_SETTING.format(framework=self._framework.name)
        if self._case.framework is None:
            return _UNKNOWN
        known = find_framework(self._case.framework) is not None
        return "" if known else _PLAIN.format(name=self._case.framework)

    def _general(self, cure: Cure, recipe: Recipe) -> Fix:
        form, patch = recipe.form, recipe.text
        if not patch and form is PatchLanguage.ENV:
            values = {name: str(value) for name, value in recipe.settings.items()}
            form, patch = spell(self._framework, values)
        elif not patch:
            patch = write_settings(form, recipe.settings)
        return self._fix(
            cure, form, patch, place=recipe.place, risk=recipe.risk, told=recipe.told, recipe=recipe
        )

    def _fix(
        self,
        cure: Cure,
        form: PatchLanguage,
        patch: str,
        *,
        place: str,
        risk: str | None,
        title: str | None = None,
        note: str = "",
        told: Mapping[str, object] | None = None,
        recipe: Recipe | None = None,
    ) -> Fix:
        commented = form in (
            PatchLanguage.PYTHON,
            PatchLanguage.YAML,
            PatchLanguage.SHELL,
            PatchLanguage.ENV,
        )
        one_node = self._case.hosts and cure is Cure.EXCLUDE_NODE
        values = {"place": place or form.value, **(told or {})}
        title = "named" if told else title
        return Fix(
            title=Message(
                key=f"fix.{cure.value}.title.{title}" if title else f"fix.{cure.value}.title",
                values=values,
            ),
            kind=(recipe.kind if recipe is not None else None) or kind_of(cure),
            framework=self._framework.name,
            where=form.value,
            patch=f"{note}{patch}" if commented else patch,
            reaches="one node" if one_node else "all ranks",
            risk=Message(key=f"fix.{cure.value}.risk.{risk}" if risk else f"fix.{cure.value}.risk"),
            verify=Message(key=f"fix.{cure.value}.verify"),
            remedy=cure.value,
            version=self._case.version,
        )
