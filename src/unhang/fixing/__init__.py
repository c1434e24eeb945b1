"""From a verdict and the files of a job to the files with the fix in them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from unhang.errors import UsageError
from unhang.fixing.code import set_in_code, wanted_limit
from unhang.fixing.config_file import ConfigFile, Language
from unhang.fixing.editors import json as json_editor
from unhang.fixing.editors import manifest as manifest_editor
from unhang.fixing.editors import pods as pods_editor
from unhang.fixing.editors import python as python_editor
from unhang.fixing.editors import shell as shell_editor
from unhang.fixing.editors import toml as toml_editor
from unhang.fixing.editors import variables as variables_editor
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.job import Held, Job, plain, read_job
from unhang.fixing.launch_edits import edit_launch
from unhang.fixing.limits import Guard, guard_limit, refuse_shorter_than_default
from unhang.fixing.own_keys import change_fork_key, change_own_key, change_own_limit
from unhang.fixing.partners import partners
from unhang.fixing.placing import check_place, constructed, flag_style
from unhang.fixing.refusal import Refusal
from unhang.fixing.requested_settings import RequestedSetting, Spelling, read_requested_settings
from unhang.fixing.saving import save
from unhang.fixing.values import (
    computed,
    for_older,
    for_trainer,
    other_ways,
    refuse_rarer,
    refuse_unresumed,
    refuse_unsharded,
    second_best,
)
from unhang.fixing.verdict import read_fixes
from unhang.model.diagnosis import Diagnosis, Fix, FixKind
from unhang.model.rewrite import ChangedFile, Rewrite, SkippedFix
from unhang.remedies.cures import PROBES, Cure

__all__ = ["rewrite"]

_NATIVE = {
    Spelling.KEY: Language.YAML,
    Spelling.JSON: Language.JSON,
    Spelling.FLAG: Language.SHELL,
    Spelling.OVERRIDE: Language.SHELL,
    Spelling.VARIABLE: Language.SHELL,
}
"""Where a setting is written that stands nowhere yet."""


_ON_REQUEST = frozenset({*(cure.value for cure in PROBES), Cure.STOP_TOGETHER.value})


class _How(TypedDict):
    """What every editor is told beside the setting."""

    newline: str
    guard: Guard


def rewrite(
    configs: Sequence[str],
    verdict: Diagnosis | str | os.PathLike[str],
    *,
    numbers: Sequence[int] = (),
    apply: bool = False,
) -> Rewrite:
    """Write fixes into the files of a job; see `unhang.api.fix`."""
    fixes = read_fixes(verdict)
    job = read_job(configs)
    done = _asked(job, fixes, numbers) if numbers else _best(job, fixes)
    if not apply:
        return done
    texts = {file.path: file.after for file in done.files if file.changed}
    backups = save({target: texts[target.path] for target in job.targets if target.path in texts})
    files = (replace(file, backup=backups.get(file.path)) for file in done.files)
    return replace(done, files=tuple(files))


def _asked(job: Job, fixes: Sequence[Fix], numbers: Sequence[int]) -> Rewrite:
    """Write the fixes that were named, all of them or none."""
    changed, written = job, []
    for number in dict.fromkeys(numbers):
        if not 1 <= number <= len(fixes):
            raise UsageError(f"there is no fix {number}; the verdict has {len(fixes)}")
        fix = fixes[number - 1]
        try:
            changed = _edit(changed, fix)
        except Refusal as refusal:
            raise UsageError(_by_hand(job, number, fix, str(refusal))) from refusal
        written.append((number, fix))
    return _rewrite(job, changed, written)


def _best(job: Job, fixes: Sequence[Fix]) -> Rewrite:
    """Write the best fix that the files can take."""
    passed: list[SkippedFix] = []
    done: Rewrite | None = None
    numbered = list(enumerate(fixes, start=1))
    if any(not fix.remedy for fix in fixes):  # it lengthens a limit
        numbered.sort(key=lambda pair: second_best(pair[1]))
    for number, fix in numbered:
        try:
            changed = _edit(job, fix)
            _refuse_probe(fix, number)
        except Refusal as refusal:
            passed.append(SkippedFix(number=number, fix=fix, reason=str(refusal)))
            continue
        written = _rewrite(job, changed, [(number, fix)], passed)
        if written.changed:
            return written
        done = done or written
        passed.append(SkippedFix(number=number, fix=fix, reason="it already says so"))
    if done is not None:
        return done
    for number, fix in enumerate(fixes, start=1):
        for other in other_ways(fix, job):
            try:
                changed = _edit(job, other)
            except Refusal:
                continue
            return _rewrite(job, changed, [(number, other)], passed)
    for number, fix in enumerate(fixes, start=1):
        if (forked := change_fork_key(job, fix)) is not None:
            return _rewrite(job, forked[0], [(number, forked[1])], passed)
    reasons = "; ".join(f"fix {p.number} ({p.fix.where}): {p.reason}" for p in passed)
    told = f"{_names(job)} cannot take any fix of the verdict. {reasons}"
    own = [p for p in passed if _by_author(p.fix)]
    cures = [p for p in own if p.fix.kind is not FixKind.PROBE] or own
    head = "# Fix {}:\n" if len(cures) > 1 else ""
    patches = "\n".join(head.format(p.number) + p.fix.patch for p in cures)
    raise UsageError(f"{told}. By hand:{_indented(patches)}" if patches else told)


def _rewrite(
    job: Job,
    changed: Job,
    written: Sequence[tuple[int, Fix]],
    passed: Sequence[SkippedFix] = (),
) -> Rewrite:
    """What became of the files of a job."""
    return Rewrite(
        files=_files(job, changed),
        written=tuple(written),
        passed=tuple(passed),
        remarks=changed.remarks,
    )


def _refuse_probe(fix: Fix, number: int) -> None:
    """What only finds out more, or ends a job sooner, is no cure: it is written on request."""
    if fix.remedy in _ON_REQUEST:
        raise Refusal(f"it cures nothing by itself: `--fix {number}` writes it")


def _files(before: Job, after: Job) -> tuple[ChangedFile, ...]:
    pairs = zip(before.targets, after.targets, strict=True)
    return tuple(ChangedFile(path=a.path, before=a.text, after=b.text) for a, b in pairs)


def _names(job: Job) -> str:
    return ", ".join(target.path for target in job.targets)


def _by_hand(job: Job, number: int, fix: Fix, reason: str) -> str:
    patch = _indented(fix.patch)
    return f"fix {number} is not written into {_names(job)}: {reason}. By hand:{patch}"


def _indented(patch: str) -> str:
    return "".join(f"\n    {line}" for line in patch.splitlines())


def _by_author(fix: Fix) -> bool:
    """Whether a fix is code or commands, which only the author of the job can put in place."""
    try:
        read_requested_settings(fix)
    except Refusal:
        return True
    return False


def _edit(job: Job, fix: Fix) -> Job:
    """The job with every setting of one fix.

    Raises:
        Refusal: one of them cannot be set safely.
    """
    in_code = set_in_code(job, fix)
    if in_code is not None:
        return in_code
    launched = edit_launch(job, fix)
    if launched is not None:
        return launched
    own = change_own_key(job, fix) or change_own_limit(job, fix, wanted_limit(fix))
    if own is not None:
        return own
    if (trained := for_trainer(fix, job)) is not fix:
        fix, job = trained, job.remarked("the Trainer sets this timeout itself, by `ddp_timeout`")
    requests = read_requested_settings(fix)
    refuse_unresumed(fix, job)
    refuse_unsharded(fix, requests, job)
    fix = for_older(fix, requests, job)
    requests = read_requested_settings(fix)
    for request in requests:
        _check_some_place(job, fix, request)
    wishes = computed(fix, requests, job)
    refuse_rarer(fix, requests)
    for number, request in enumerate(wishes):
        old = job.value(request.name)
        if number > 0 and old == str(request.value):
            continue  # It is worked out from what has just changed.
        refuse_shorter_than_default(fix, request, old)
        if request.beside and not _several_hosts(job):
            request = replace(request, beside=())  # noqa: PLW2901
        before = job
        job = _placed(job, fix, request)
        for held, partner in partners(before, request, old):
            text = _set(held.file, fix, partner)
            job = job.with_text(_same(job, held), text)
    return job


def _several_hosts(job: Job) -> bool:
    """Whether a launcher hands the job on to other hosts."""
    counts = (job.value(name) or "" for name in ("num_nodes", "nnodes", "num_machines"))
    return job.value("hostfile") is not None or any(c not in ("", "1", "1:1") for c in counts)


def _same(job: Job, held: Held) -> Held:
    """A document of an earlier text of the job, as it is now."""
    return next(d for d in job.documents if (d.owner, d.file.path) == (held.owner, held.file.path))


def _check_some_place(job: Job, fix: Fix, request: RequestedSetting) -> None:
    """Refuse a setting that none of the files is read for, before its value is asked."""
    reasons = [(held, _misplaced(held, fix, request)) for held in _in_order(job, request)]
    if all(reason is not None for _, reason in reasons):
        raise Refusal(_together(job, [(held, reason or "") for held, reason in reasons]))


def _placed(job: Job, fix: Fix, request: RequestedSetting) -> Job:
    """The job with one setting, in the first file that can take it.

    Raises:
        Refusal: none can, or the file that holds it cannot.
    """
    reasons: list[tuple[Held, str]] = []
    for held in _in_order(job, request):
        text, reason = _tried(held, fix, request)
        if text is not None:
            return job.with_text(held, text)
        stands = plain(request.name) in held.settings
        if stands and _misplaced(held, fix, request) is None:
            raise Refusal(_together(job, [(held, reason)]))
        reasons.append((held, reason))
    raise Refusal(_together(job, reasons))


def _tried(held: Held, fix: Fix, request: RequestedSetting) -> tuple[str | None, str]:
    """The new text of a document, or why it has none."""
    try:
        check_place(held.file, fix, request)
        text = _set(held.file, fix, request)
    except Refusal as refusal:
        return None, str(refusal)
    if held.owner is None:
        return None, f"it belongs in {held.file.path}: give that file too"
    return text, ""


def _misplaced(held: Held, fix: Fix, request: RequestedSetting) -> str | None:
    """Why nobody reads a setting from a file; None where somebody does."""
    try:
        check_place(held.file, fix, request)
    except Refusal as refusal:
        return str(refusal)
    return None


def _in_order(job: Job, request: RequestedSetting) -> list[Held]:
    """The documents of a job: where it stands already first, then where it is at home."""

    def rank(held: Held) -> tuple[bool, bool, bool]:
        stands = plain(request.name) in held.settings
        # A command line overrides what a file says.
        native = Language.SHELL if stands else _NATIVE[request.spelling]
        return not stands, held.owner is None, held.file.language is not native

    return sorted(job.documents, key=rank)


def _together(job: Job, reasons: Sequence[tuple[Held, str]]) -> str:
    """The reasons of all files; a file that is only read needs none."""
    own = [(held, text) for held, text in reasons if held.owner is not None] or list(reasons)
    told = [(held, text) for held, text in reasons if held.owner is None and "give that" in text]
    shown = told[:1] or own
    if len(shown) == 1 and len(job.targets) == 1:
        return shown[0][1]
    return "; ".join(f"{held.file.path}: {text}" for held, text in shown)


def _set(target: ConfigFile, fix: Fix, request: RequestedSetting) -> str:
    text = target.text
    how: _How = {"newline": target.newline, "guard": guard_limit(fix, request)}
    variable = request.spelling is Spelling.VARIABLE
    match target.language:
        case Language.YAML if variable:
            return pods_editor.set_variable(text, request.name, _word(request), **how)
        case Language.YAML if manifest_editor.word_lists(text, fix.framework):
            return manifest_editor.set_flag(
                text, request.name, _flag_value(request), fix.framework, **how
            )
        case Language.YAML:
            return yaml_editor.set_key(text, request.path, request.value, **how)
        case Language.JSON:
            return json_editor.set_key(text, request.path, request.value, **how)
        case Language.CODE:
            place = constructed(target, fix, request)
            assert place is not None, "it was checked"
            call, path = place
            return python_editor.set_argument(
                text, call, path, repr(request.value), guard=how["guard"]
            )
        case Language.TOML:
            *above, last = request.name.split(".")
            value = request.value
            if value is None and request.spelling is Spelling.FLAG:
                # A flag without a value is a truth in a file, and `--no-x` the untruth of `x`.
                last, value = last.removeprefix("no-"), not last.startswith("no-")
            return toml_editor.set_key(text, [*above, last], value, **how)
        case Language.VARIABLES:
            return variables_editor.set_variable(text, request.name, _word(request), **how)
        case Language.DOCKERFILE:
            return variables_editor.set_docker_variable(text, request.name, request.raw, **how)
        case _ if variable:
            return shell_editor.set_variable(
                text, request.name, request.raw, beside=request.beside, **how
            )
        case _ if flag_style(fix, request) is Spelling.OVERRIDE and not shell_editor.takes_flags(
            text, request.name, fix.framework
        ):
            return shell_editor.set_override(
                text, request.name, _spelled(request), fix.framework, prefix=request.prefix, **how
            )
        case _:
            return shell_editor.set_flag(
                text, request.name, _flag_value(request), fix.framework, **how
            )


def _word(request: RequestedSetting) -> str:
    """The value of a variable without the quotes of the shell."""
    return " ".join(shlex.split(request.raw)) if request.raw else ""


def _flag_value(request: RequestedSetting) -> str | None:
    """What follows a flag; None after one that stands alone."""
    alone = request.spelling is Spelling.FLAG and request.value is None
    return None if alone else _spelled(request)


def _spelled(request: RequestedSetting) -> str:
    """A value as a command line spells it."""
    if request.raw:
        return shlex.quote(request.raw)
    if request.value is None:
        return "null"
    if isinstance(request.value, bool):
        return str(request.value).lower()
    return shlex.quote(str(request.value))
