"""From the rows of a recipe or a knob to a changed program of the user's own.

A row says which keyword of which call carries the setting. A program that does not make that call
is left alone; one that makes it several times is changed only where all of them are meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.fixing.config_file import Language
from unhang.fixing.editors import python as editor
from unhang.fixing.job import Held, Job
from unhang.fixing.refusal import Refusal
from unhang.model.diagnosis import Fix
from unhang.remedies.recipes import recipes_of
from unhang.settings import find_framework, timeout_knobs
from unhang.settings.frameworks import PLAIN, frameworks
from unhang.settings.tables import CodeEdit

_UNITS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}


@dataclass(frozen=True, slots=True)
class _Place:
    """A call, or a dictionary, in which an edit applies."""

    held: Held
    holder: ast.expr


def edit_code(job: Job, fix: Fix, seconds: int | None) -> Job | None:
    """The job with a fix in its program; None where no row says how, or nothing calls for it.

    Args:
        job: all files.
        fix: of a verdict.
        seconds: the timeout that it sets; None where it sets none.

    Raises:
        Refusal: the place computes its value, is one of several, or says so already.
    """
    for edit in _edits(fix, seconds):
        places = list(_places(job, edit))
        if places:
            return _edited(job, edit, places, seconds)
        if edit.otherwise and (changed := _added(job, edit, seconds)) is not None:
            return changed
    return None


def _added(job: Job, edit: CodeEdit, seconds: int | None) -> Job | None:
    """A statement more in the one file that takes over others, which hold what it changes."""
    found = [
        held
        for held in job.documents
        if held.file.language is Language.CODE and edit.marker in held.file.text
    ]
    if len(found) != 1 or found[0].owner is None:
        return None
    text, newline = found[0].file.text, found[0].file.newline
    gap = "" if text.endswith("\n") else newline
    return job.with_text(found[0], f"{text}{gap}{_spelled(edit.otherwise, seconds)}{newline}")


def _edits(fix: Fix, seconds: int | None) -> Sequence[CodeEdit]:
    framework = find_framework(fix.framework) or frameworks()[PLAIN]
    if seconds is not None and not fix.remedy:
        return [
            edit
            for knob in timeout_knobs(framework.name, fix.version)
            if knob.write(seconds) == fix.patch
            for edit in knob.code
        ]
    versions = {fix.framework: fix.version} if fix.version else {}
    owners = [framework, *([] if framework.name == PLAIN else [frameworks()[PLAIN]])]
    return [
        edit
        for owner in owners
        for recipe in recipes_of(owner, fix.remedy, versions)
        if recipe.text and fix.patch.endswith(recipe.text)
        for edit in recipe.code
    ]


def _places(job: Job, edit: CodeEdit) -> Iterator[_Place]:
    for held in job.documents:
        if held.file.language is not Language.CODE:
            continue
        try:
            tree = editor.parse(held.file.text)
        except Refusal:
            continue
        found: Sequence[ast.expr] = editor.calls(tree, edit.calls)
        if edit.assigned:
            value = editor.assigned(tree, edit.assigned)
            found = [] if value is None else [value]
        for holder in found:
            if _applies(held.file.text, holder, edit):
                yield _Place(held, holder)


def _applies(text: str, holder: ast.expr, edit: CodeEdit) -> bool:
    present = _present(holder, edit.path)
    if edit.times != 1.0:
        return isinstance(present, ast.Constant) and isinstance(present.value, (int, float))
    if not edit.when:
        return True
    return present is not None and bool(re.fullmatch(edit.when, editor.source_of(text, present)))


def _present(holder: ast.expr, path: Sequence[str]) -> ast.expr | None:
    node: ast.expr | None = holder
    for name in path:
        node = None if node is None else editor.argument(node, name)
    return node


def _edited(job: Job, edit: CodeEdit, places: Sequence[_Place], seconds: int | None) -> Job:
    told = ", ".join(f"{p.held.file.path}:{p.holder.lineno}" for p in places)
    if len(places) > 1 and not edit.every:
        raise Refusal(f"{len(places)} places may be meant ({told}): it is unknown which")
    only_read = next((p for p in places if p.held.owner is None), None)
    if only_read is not None:
        raise Refusal(f"it belongs in {only_read.held.file.path}: give that file too")
    reasons: list[str] = []
    changed = False
    # From the last to the first: what is changed below does not move what stands above.
    for place in sorted(places, key=lambda p: (p.held.file.path, -p.holder.lineno)):
        held = next(
            d
            for d in job.documents
            if (d.owner, d.file.path) == (place.held.owner, place.held.file.path)
        )
        try:
            text = _changed(held.file.text, place.holder, edit, seconds)
        except Refusal as refusal:
            reasons.append(str(refusal))
            continue
        changed = changed or text != held.file.text
        job = job.with_text(held, text)
    if not changed:
        raise Refusal("; ".join(dict.fromkeys(reasons)) or f"{told} already says so")
    for place in places:
        held = next(d for d in job.documents if d.file.path == place.held.file.path)
        job = job.with_text(held, editor.with_imports(held.file.text, edit.imports))
    return job


def _changed(text: str, holder: ast.expr, edit: CodeEdit, seconds: int | None) -> str:
    present = _present(holder, edit.path)
    if edit.times != 1.0:
        return editor.set_argument(text, holder, edit.path, _number(present, edit))
    if seconds is not None and not edit.when:
        _refuse_shorter(text, present, seconds)
    value, before = (_spelled(part, seconds) for part in (edit.value, edit.before))
    if edit.append and isinstance(holder, ast.Call):
        changed = editor.append_item(text, holder, edit.path[0], value)
    else:
        changed = editor.set_argument(text, holder, edit.path, value)
    return editor.insert_before(changed, holder, before) if before else changed


def _spelled(text: str, seconds: int | None) -> str:
    if seconds is None:
        return text
    return text.replace("{seconds}", str(seconds)).replace("{minutes}", str(-(-seconds // 60)))


def _number(present: ast.expr | None, edit: CodeEdit) -> str:
    """The new number in place of one that stands there; it goes in the wanted direction."""
    assert isinstance(present, ast.Constant)
    assert isinstance(present.value, (int, float))
    old = present.value
    if isinstance(old, bool) or old <= 0 or (isinstance(old, float) and old <= 1):
        raise Refusal(f"line {present.lineno}: {old} leaves nothing to change in this direction")
    new = max(int(old * edit.times), edit.least)
    new = new if edit.most is None else min(new, edit.most)
    if new == old or (new > old) != (edit.times > 1):
        raise Refusal(f"line {present.lineno}: `{edit.path[-1]}` is already {old}")
    return str(new)


def _refuse_shorter(text: str, present: ast.expr | None, wanted: int) -> None:
    """Refuse a timeout that is not longer than what stands there."""
    if present is None:
        return
    old = _seconds(present)
    if old is None:
        said = editor.source_of(text, present)
        raise Refusal(f"line {present.lineno} computes the timeout ({said}): set it to {wanted} s")
    if old >= wanted:
        raise Refusal(f"line {present.lineno} already says {old:g} s: another limit ran out")


def _seconds(node: ast.expr) -> float | None:
    """The length of a number of seconds, or of a `timedelta` of plain numbers."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Call(args=[], keywords=keywords) if editor.called(node) == "timedelta":
            total = 0.0
            for keyword in keywords:
                plain = keyword.value
                number = plain.value if isinstance(plain, ast.Constant) else None
                if keyword.arg not in _UNITS or not isinstance(number, (int, float)):
                    return None
                total += number * _UNITS[keyword.arg]
            return total
        case _:
            return None
