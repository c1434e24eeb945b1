"""From a verdict and a file of the user's to the file with the fix in it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from unhang.errors import UsageError
from unhang.fixing.config_file import ConfigFile, Language, read_target
from unhang.fixing.editors import json as json_editor
from unhang.fixing.editors import manifest as manifest_editor
from unhang.fixing.editors import shell as shell_editor
from unhang.fixing.editors import toml as toml_editor
from unhang.fixing.editors import variables as variables_editor
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.limits import Guard, guard_limit
from unhang.fixing.placing import check_place, flag_style
from unhang.fixing.refusal import Refusal
from unhang.fixing.requested_settings import RequestedSetting, Spelling, read_requested_settings
from unhang.fixing.saving import save
from unhang.fixing.values import Job, computed
from unhang.fixing.verdict import read_fixes
from unhang.model.diagnosis import Diagnosis, Fix
from unhang.model.rewrite import Rewrite, SkippedFix

__all__ = ["rewrite"]


class _How(TypedDict):
    """What every editor is told beside the setting."""

    newline: str
    guard: Guard


def rewrite(
    config: str,
    verdict: Diagnosis | str | os.PathLike[str],
    *,
    numbers: Sequence[int] = (),
    apply: bool = False,
) -> Rewrite:
    """Write fixes into a file; see `unhang.api.fix`."""
    fixes = read_fixes(verdict)
    target = read_target(config)
    done = _asked(target, fixes, numbers) if numbers else _best(target, fixes)
    backup = save(target, done.after) if apply and done.changed else None
    return replace(done, backup=backup)


def _asked(target: ConfigFile, fixes: Sequence[Fix], numbers: Sequence[int]) -> Rewrite:
    """Write the fixes that were named, all of them or none."""
    text, written = target.text, []
    for number in dict.fromkeys(numbers):
        if not 1 <= number <= len(fixes):
            raise UsageError(f"there is no fix {number}; the verdict has {len(fixes)}")
        fix = fixes[number - 1]
        try:
            text = _edit(target, text, fix)
        except Refusal as refusal:
            raise UsageError(_by_hand(target, number, fix, str(refusal))) from refusal
        written.append((number, fix))
    return Rewrite(path=target.path, before=target.text, after=text, written=tuple(written))


def _best(target: ConfigFile, fixes: Sequence[Fix]) -> Rewrite:
    """Write the best fix that the file can take."""
    passed: list[SkippedFix] = []
    done: Rewrite | None = None
    for number, fix in enumerate(fixes, start=1):
        try:
            text = _edit(target, target.text, fix)
        except Refusal as refusal:
            passed.append(SkippedFix(number=number, fix=fix, reason=str(refusal)))
            continue
        written = Rewrite(
            path=target.path,
            before=target.text,
            after=text,
            written=((number, fix),),
            passed=tuple(passed),
        )
        if written.changed:
            return written
        done = done or written
        passed.append(SkippedFix(number=number, fix=fix, reason="it says so already"))
    if done is not None:
        return done
    reasons = "; ".join(f"fix {p.number} ({p.fix.where}): {p.reason}" for p in passed)
    raise UsageError(f"{target.path} can take no fix of the verdict. {reasons}")


def _by_hand(target: ConfigFile, number: int, fix: Fix, reason: str) -> str:
    patch = "".join(f"\n    {line}" for line in fix.patch.splitlines())
    return f"fix {number} is not written into {target.path}: {reason}. By hand:{patch}"


def _edit(target: ConfigFile, text: str, fix: Fix) -> str:
    """The text with every setting of one fix.

    Raises:
        Refusal: one of them cannot be set safely.
    """
    requests = read_requested_settings(fix)
    current = replace(target, text=text)
    for request in requests:
        check_place(current, fix, request)
    for request in computed(fix, requests, Job([current])):
        current = replace(current, text=_set(current, fix, request))
    return current.text


def _set(target: ConfigFile, fix: Fix, request: RequestedSetting) -> str:
    text = target.text
    how: _How = {"newline": target.newline, "guard": guard_limit(fix, request)}
    variable = request.spelling is Spelling.VARIABLE
    match target.language:
        case Language.YAML if variable:
            return manifest_editor.set_variable(text, request.name, _word(request), **how)
        case Language.YAML:
            return yaml_editor.set_key(text, request.path, request.value, **how)
        case Language.JSON:
            return json_editor.set_key(text, request.path, request.value, **how)
        case Language.TOML:
            return toml_editor.set_key(text, request.name.split("."), request.value, **how)
        case Language.VARIABLES:
            return variables_editor.set_variable(text, request.name, _word(request), **how)
        case Language.DOCKERFILE:
            return variables_editor.set_docker_variable(text, request.name, request.raw, **how)
        case _ if variable:
            return shell_editor.set_variable(
                text, request.name, request.raw, beside=request.beside, **how
            )
        case _ if flag_style(fix, request) is Spelling.OVERRIDE:
            return shell_editor.set_override(
                text, request.name, _spelled(request), fix.framework, prefix=request.prefix, **how
            )
        case _:
            raw = (
                None
                if request.spelling is Spelling.FLAG and request.value is None
                else _spelled(request)
            )
            return shell_editor.set_flag(text, request.name, raw, fix.framework, **how)


def _word(request: RequestedSetting) -> str:
    """The value of a variable without the quotes of the shell."""
    return " ".join(shlex.split(request.raw)) if request.raw else ""


def _spelled(request: RequestedSetting) -> str:
    """A value as a command line spells it."""
    if request.raw:
        return shlex.quote(request.raw)
    if request.value is None:
        return "null"
    if isinstance(request.value, bool):
        return str(request.value).lower()
    return shlex.quote(str(request.value))
