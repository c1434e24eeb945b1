"""The values of a fix, computed anew from what the user's files hold.

A verdict is written without the user's files: its numbers rest on the release's defaults. What is
written into a file follows from the value in force there, by the same recipe, and nothing is
written that would go nowhere, the wrong way, or against another setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from unhang import lazy_re as re
from unhang.fixing.job import Job, plain
from unhang.fixing.refusal import Refusal
from unhang.fixing.requested_settings import (
    RequestedSetting,
    Spelling,
    read_requested_settings,
)
from unhang.model.diagnosis import Fix
from unhang.model.provenance import Message
from unhang.remedies.cures import PatchLanguage
from unhang.remedies.recipes import Versions, knob_in, nested, recipes_of, settings_of
from unhang.remedies.syntax import write_settings
from unhang.settings import Framework, find_framework, frameworks
from unhang.settings.frameworks import RecipeRow
from unhang.settings.knobs import NoChange

_RESUME = r"(?:\w*[._])?(?:resume\w*|load_checkpoint\w*)"
_ALWAYS_SECOND = frozenset({"eval_rarely", "async_save", "faster_data", "prepare_data"})
_SLOW = frozenset({"sharded_save", "eval_smaller"})
_SECOND = frozenset({"zero3", "fsdp", "batch"})
_NOTHING = r"(?:null|~|none|false|no|disable)"
_RESUMES = re.compile(rf"(?:.*\.)?{_RESUME}")
_MINUTES = re.compile(r"^export DEEPSPEED_TIMEOUT=(\d{1,6})\b", re.MULTILINE)
_RESUMES_NOT = re.compile(
    rf"(?im)(?<![^\s.-]){_RESUME}(?::[ \t]*{_NOTHING}?(?=[ \t]*(?:#.*)?$)|={_NOTHING}(?=\s|$))"
)


def computed(
    fix: Fix, requests: Sequence[RequestedSetting], job: Job
) -> tuple[RequestedSetting, ...]:
    """Return the requests with the values that follow from those in force.

    Raises:
        Refusal: nothing would change, or not for the better; or the patch is none of a recipe and
            sets what is set already.
    """
    requests = [_merged(request, job) for request in requests]
    recipe = _recipe(fix, requests)
    if recipe is None:
        return tuple(_fixed(fix, requests, job))
    framework = find_framework(fix.framework)
    assert framework is not None, "it has a recipe"
    elsewhere = job.elsewhere(frameworks()[recipe.owner or framework.name].configured_by)
    try:
        values = settings_of(
            recipe, framework, _versions(fix), job.value, advised=False, elsewhere=elsewhere
        )
    except NoChange as reason:
        raise Refusal(str(reason)) from reason
    by_key = {plain(request.name): request for request in requests}
    return tuple(_wish(key, value, by_key, requests[0], job) for key, value in values.items())


def second_best(fix: Fix) -> bool:
    """Whether a longer limit is tried before a fix.

    It changes in what form a model is saved, takes more memory, or may not make what is slow short
    enough.
    """
    if fix.remedy in _ALWAYS_SECOND:
        return True
    try:
        recipe = _recipe(fix, read_requested_settings(fix)) if fix.remedy in _SLOW else None
    except Refusal:
        return False
    return recipe is not None and recipe.risk in _SECOND


def refuse_rarer(fix: Fix, requests: Sequence[RequestedSetting]) -> None:
    """Refuse evaluations that are as long as before, where the length of one was too much."""
    recipe = _recipe(fix, requests) if fix.remedy == "eval_rarely" else None
    ends = (change.to for change in recipe.changes) if recipe is not None else ()
    if recipe is not None and not any(to in (0, "no") and to is not False for to in ends):
        raise Refusal("one evaluation takes longer than the limit, however rare it is")


def refuse_unsharded(fix: Fix, requests: Sequence[RequestedSetting], job: Job) -> None:
    """Refuse a variable that only a way of sharding reads of which no file speaks."""
    recipe = _recipe(fix, requests)
    if recipe is None or recipe.strategy is None or recipe.form != PatchLanguage.ENV.value:
        return
    if not job.names(recipe.strategy):
        raise Refusal(f"no file says that the job is sharded by {recipe.strategy.upper()}")


def refuse_unresumed(fix: Fix, job: Job) -> None:
    """Refuse more checkpoints where the files say that nothing resumes from one.

    Raises:
        Refusal: with the setting that says so.
    """
    if fix.remedy != "save_often" or any(job.holding(_RESUMES).values()):
        return
    for held in job.documents:
        if (said := _RESUMES_NOT.search(held.file.text)) is not None:
            raise Refusal(
                f"`{said[0].strip()}`: nothing would resume from what is saved more often"
            )


def for_trainer(fix: Fix, job: Job) -> Fix:
    """The timeout of DeepSpeed as a job says it in which the Trainer sets that up.

    The Trainer hands `ddp_timeout` to `init_distributed`, which then reads no variable
    (`TrainingArguments._setup_devices`). Its key of DeepSpeed's name holds a configuration;
    DeepSpeed's own flag has no value.
    """
    minutes = _MINUTES.search(fix.patch)
    if minutes is None or job.value(fix.framework) in (None, "", "true", "set"):
        return fix
    key = "ddp_timeout"
    # The innermost of those that know it: the others take it over.
    *_, trainer = (f.name for f in frameworks().values() if any(t.key == key for t in f.timeouts))
    patch = f"{key}: {int(minutes[1]) * 60}"
    return replace(fix, framework=trainer, where="yaml", patch=patch, version=None)


def for_older(fix: Fix, requests: Sequence[RequestedSetting], job: Job) -> Fix:
    """The fix as an older release writes it, where keys that only such a one reads show it.

    Raises:
        Refusal: that release has no way, or nothing would change there.
    """
    framework = find_framework(fix.framework)
    release = _older_release(fix, requests, job)
    if framework is None or release is None:
        return fix
    versions = {framework.name: release}
    reasons = []
    for recipe in recipes_of(framework, fix.remedy, versions) if fix.remedy else ():
        if not recipe.changes:
            continue
        try:
            return replace(_by_recipe(fix, recipe, framework, versions, job), version=release)
        except NoChange as reason:
            reasons.append(str(reason))
    told = f": {'; '.join(reasons)}" if reasons else ""
    raise Refusal(f"the files are of {framework.name} {release}, which has no such setting{told}")


def other_ways(fix: Fix, job: Job) -> Iterator[Fix]:
    """The same cure by other keys that the files hold: recipes with a title of their own."""
    framework = find_framework(fix.framework)
    if framework is None:
        return
    for recipe in recipes_of(framework, fix.remedy, _versions(fix)):
        held = any(job.value(change.name) is not None for change in recipe.changes)
        if recipe.title is None or not held:
            continue
        values = {"place": recipe.place or recipe.form}
        title = Message(key=f"fix.{fix.remedy}.title.{recipe.title}", values=values)
        risk = fix.risk
        if recipe.risk is not None:
            risk = Message(key=f"fix.{fix.remedy}.risk.{recipe.risk}")
        try:
            other = _by_recipe(fix, recipe, framework, _versions(fix), job)
        except NoChange:
            continue
        yield replace(other, title=title, risk=risk)


def _by_recipe(
    fix: Fix, recipe: RecipeRow, framework: Framework, versions: Versions, job: Job
) -> Fix:
    """The fix as a recipe writes it over the values in force.

    Raises:
        NoChange: nothing would change.
    """
    values = settings_of(recipe, framework, versions, job.value, advised=False)
    form = PatchLanguage(recipe.form)
    deep = form in (PatchLanguage.YAML, PatchLanguage.JSON)
    patch = write_settings(form, nested(values) if deep else values)
    return replace(fix, where=form.value, patch=patch)


def _older_release(fix: Fix, requests: Sequence[RequestedSetting], job: Job) -> str | None:
    framework = find_framework(fix.framework)
    if framework is None or fix.version is not None:
        return None
    for old in framework.knobs.values():
        if old.known_in(framework.newest) is not False or not job.holds(old.key):
            continue
        release = next((r.release for r in old.releases if r.found), old.last)
        knobs = (framework.knobs.get(request.name) for request in requests)
        if any(knob is not None and knob.known_in(release) is False for knob in knobs):
            return release
    return None


def _merged(request: RequestedSetting, job: Job) -> RequestedSetting:
    """The options of the allocator are a list: the user's others stay in it."""
    present = job.value(request.name)
    if request.spelling is not Spelling.VARIABLE or not present or present == request.raw:
        return request
    if not request.name.endswith("ALLOC_CONF") or ":" not in present:
        return request
    new = dict(part.split(":", 1) for part in request.raw.split(","))
    old = [part for part in present.split(",") if part.split(":")[0].strip() not in new]
    raw = ",".join([*old, request.raw])
    return replace(request, value=raw, raw=raw)


def _recipe(fix: Fix, requests: Sequence[RequestedSetting]) -> RecipeRow | None:
    """The recipe by which a fix was written: the one that sets the same keys."""
    framework = find_framework(fix.framework)
    if framework is None:
        return None
    wanted = {plain(request.name) for request in requests}
    cures = [fix.remedy] if fix.remedy else list(framework.recipes)
    found = [
        recipe
        for cure in cures
        for recipe in recipes_of(framework, cure, _versions(fix))
        if recipe.changes and wanted & _keys(recipe, framework.name, fix)
    ]
    exact = [r for r in found if wanted <= _keys(r, framework.name, fix)]
    if not fix.remedy and len(exact) > 1:
        names = ", ".join(sorted(w.name for w in requests))
        raise Refusal(f"the verdict does not say what to change in {names}: make it anew")
    return exact[0] if exact else None


def _keys(recipe: RecipeRow, framework: str, fix: Fix) -> set[str]:
    owner = frameworks()[recipe.owner or framework]
    keys: set[str] = set()
    for change in recipe.changes:
        knob = knob_in(owner, change.key.lstrip("+"), _versions(fix))
        keys.add(plain(change.key))
        keys.add(plain(change.key if knob is None else knob.key))
        if change.keeps is not None:
            keys.add(plain(change.keeps))
    return keys


def _versions(fix: Fix) -> Versions:
    return {fix.framework: fix.version} if fix.version else {}


def _wish(
    key: str, value: Any, by_key: Mapping[str, RequestedSetting], first: RequestedSetting, job: Job  # noqa: ANN401
) -> RequestedSetting:  # fmt: skip
    present = by_key.get(plain(key))
    if present is None:
        deep = first.spelling is not Spelling.FLAG
        path = tuple(key.split(".")) if deep else (key,)
        present = replace(first, path=path, beside=(), home=first.home or first.path)
    raw = present.raw
    if first.raw or first.spelling in (Spelling.FLAG, Spelling.OVERRIDE, Spelling.VARIABLE):
        raw = _raw(value, job.value(key))
    return replace(present, value=value, raw=raw)


def _raw(value: Any, before: str | None) -> str:  # noqa: ANN401  a value of any type
    if value is None:
        return ""
    if isinstance(value, bool):
        # As the file spells its own: Hydra and argparse take `True`, a shell `true`.
        capital = before is not None and before[:1].isupper()
        return str(value) if capital else str(value).lower()
    if isinstance(value, list):
        return "[" + ",".join(value) + "]"
    return str(value)


def _fixed(fix: Fix, requests: Sequence[RequestedSetting], job: Job) -> Iterator[RequestedSetting]:
    """Wishes of a patch that is no recipe's: only keys that a row knows, or variables."""
    framework = find_framework(fix.framework)
    for request in requests:
        _refuse_unbearable(request, job)
        known = request.spelling is Spelling.VARIABLE or "time" in request.name.lower()
        if framework is None or known or _known(framework.name, request):
            yield request
        else:
            raise Refusal(f"no table of {fix.framework} knows `{request.name}`")


def _refuse_unbearable(request: RequestedSetting, job: Job) -> None:
    """Another program of the job does not start with it."""
    for other in frameworks().values():
        for word in other.refuses:
            if word in request.raw and job.names(other.name):
                raise Refusal(f"the job runs {other.name}, too, which does not work with {word}")


def _known(framework: str, request: RequestedSetting) -> bool:
    if request.path[-1] in ("class_path", "init_args") or "init_args" in request.path:
        return True
    known = frameworks()
    owners = [known[framework], *(f for f in known.values() if f.launches)]
    spelled = (request.name, request.name.replace("_", "-"))
    return any(knob_in(owner, name, {}) for owner in owners for name in spelled)
