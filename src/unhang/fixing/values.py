"""The values of a fix, computed anew from what the user's files hold.

A verdict is written without the user's files: its numbers rest on the release's defaults. What is
written into a file follows from the value in force there, by the same recipe, and nothing is
written that would go nowhere, the wrong way, or against another setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from unhang.fixing.config_file import ConfigFile, Language
from unhang.fixing.refusal import Refusal
from unhang.fixing.requested_settings import RequestedSetting, Spelling
from unhang.linting.document import SettingsDocument
from unhang.linting.readers.json import read_json
from unhang.linting.readers.shell import read_shell
from unhang.linting.readers.toml import read_toml
from unhang.linting.readers.yaml import read_yaml
from unhang.model.diagnosis import Fix
from unhang.remedies.recipes import Versions, knob_in, recipes_of, settings_of
from unhang.settings import find_framework, frameworks
from unhang.settings.frameworks import RecipeRow
from unhang.settings.knobs import NoChange

_READERS: Mapping[Language, Callable[[SettingsDocument, str], None]] = {
    Language.YAML: read_yaml,
    Language.JSON: read_json,
    Language.TOML: read_toml,
    Language.SHELL: read_shell,
    Language.VARIABLES: read_shell,
    Language.DOCKERFILE: read_shell,
}


class Job:
    """The settings of the files that belong to one job.

    What the file at hand says counts first. A DeepSpeed JSON nests and a command line is flat, so
    that a key is also found under its last part where that is unique.
    """

    def __init__(self, targets: Sequence[ConfigFile]) -> None:
        self._held: dict[str, str] = {}
        for target in reversed(targets):
            self._held.update(_settings(target))

    def value(self, key: str) -> str | None:
        """The value in force for a key, as text."""
        plain = _plain(key)
        if plain in self._held:
            return self._held[plain]
        inside = {k: v for k, v in self._held.items() if k.startswith(f"{plain}.")}
        if inside:
            return "set"
        ends = {v for k, v in self._held.items() if k.rpartition(".")[2] == plain}
        return ends.pop() if len(ends) == 1 and "." not in plain else None


def computed(
    fix: Fix, requests: Sequence[RequestedSetting], job: Job
) -> tuple[RequestedSetting, ...]:
    """Return the requests with the values that follow from those in force.

    Raises:
        Refusal: nothing would change, or not for the better; or the patch is none of a recipe and
            sets what is set already.
    """
    recipe = _recipe(fix, requests)
    if recipe is None:
        return tuple(_fixed(fix, requests))
    framework = find_framework(fix.framework)
    assert framework is not None, "it has a recipe"
    try:
        values = settings_of(recipe, framework, _versions(fix), job.value, advised=False)
    except NoChange as reason:
        raise Refusal(str(reason)) from reason
    by_key = {_plain(request.name): request for request in requests}
    return tuple(_wish(key, value, by_key, requests[0], job) for key, value in values.items())


def _recipe(fix: Fix, requests: Sequence[RequestedSetting]) -> RecipeRow | None:
    """The recipe by which a fix was written: the one that sets the same keys."""
    framework = find_framework(fix.framework)
    if framework is None:
        return None
    wanted = {_plain(request.name) for request in requests}
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
        raise Refusal(f"the verdict does not say what is to become of {names}: make it anew")
    return exact[0] if exact else None


def _keys(recipe: RecipeRow, framework: str, fix: Fix) -> set[str]:
    owner = frameworks()[recipe.owner or framework]
    keys: set[str] = set()
    for change in recipe.changes:
        knob = knob_in(owner, change.key.lstrip("+"), _versions(fix))
        keys.add(_plain(change.key))
        keys.add(_plain(change.key if knob is None else knob.key))
        if change.keeps is not None:
            keys.add(_plain(change.keeps))
    return keys


def _versions(fix: Fix) -> Versions:
    return {fix.framework: fix.version} if fix.version else {}


def _wish(
    key: str, value: Any, by_key: Mapping[str, RequestedSetting], first: RequestedSetting, job: Job  # noqa: ANN401
) -> RequestedSetting:  # fmt: skip
    present = by_key.get(_plain(key))
    if present is None:
        deep = first.spelling is not Spelling.FLAG
        path = tuple(key.split(".")) if deep else (key,)
        present = replace(first, path=path, beside=())
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


def _fixed(fix: Fix, requests: Sequence[RequestedSetting]) -> Iterator[RequestedSetting]:
    """Wishes of a patch that is no recipe's: only keys that a row knows, or variables."""
    framework = find_framework(fix.framework)
    for request in requests:
        known = request.spelling is Spelling.VARIABLE or "time" in request.name.lower()
        if framework is None or known or _known(framework.name, request):
            yield request
        else:
            raise Refusal(f"no table of {fix.framework} knows `{request.name}`")


def _known(framework: str, request: RequestedSetting) -> bool:
    if request.path[-1] in ("class_path", "init_args") or "init_args" in request.path:
        return True
    known = frameworks()
    owners = [known[framework], *(f for f in known.values() if f.launches)]
    spelled = (request.name, request.name.replace("_", "-"))
    return any(knob_in(owner, name, {}) for owner in owners for name in spelled)


def _settings(target: ConfigFile) -> dict[str, str]:
    reader = _READERS.get(target.language)
    if reader is None:
        return {}
    document = SettingsDocument(name=target.path)
    reader(document, target.text)
    held = {_plain(s.name): s.value for s in document.settings if s.value is not None}
    if target.language is Language.JSON:
        held.update(_leaves(target.text))
    return held


def _leaves(text: str) -> dict[str, str]:
    """The values of a JSON by their dotted keys."""
    from unhang.fixing.editors import json as json_editor

    try:
        tree = json_editor.parse(text)
    except Refusal:
        return {}
    found: dict[str, str] = {}
    open_ = [("", tree)]
    while open_:
        above, node = open_.pop()
        for key, value in node.items():
            if isinstance(value, dict):
                open_.append((f"{above}{key}.", value))
            elif not isinstance(value, list):
                text_ = str(value).lower() if isinstance(value, bool) else str(value)
                found[_plain(f"{above}{key}")] = "null" if value is None else text_
    return found


def _plain(key: str) -> str:
    return key.lstrip("+-").replace("-", "_")
