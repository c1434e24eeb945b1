"""Where a program of the user's own says itself what a fix changes, above all its timeout.

`init_process_group(timeout=timedelta(seconds=args.timeout))` decides: no variable and no other file
reaches that group. A plain number in the code is replaced there; what the code takes from a flag is
changed where the job is launched.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.fixing.code_edits import edit_code
from unhang.fixing.config_file import Language
from unhang.fixing.editors import shell as shell_editor
from unhang.fixing.job import Held, Job, plain
from unhang.fixing.refusal import Refusal
from unhang.model.diagnosis import Fix
from unhang.settings import timeout_knobs

_MAKERS = frozenset({"init_process_group", "init_distributed"})
_SECONDS = {"seconds": 1, "minutes": 60, "hours": 3_600}
_IN_PATCH = re.compile(r"timedelta\(seconds=(\d{1,12})\)")
_NUMBER = re.compile(r"\d{2,9}")
_EXPORT = re.compile(r"export (\w+)=(\d{1,12})")


@dataclass(frozen=True, slots=True)
class _Said:
    """A timeout in code: `unit` is the keyword of `timedelta`, `value` what stands behind it."""

    held: Held
    unit: str
    value: ast.expr

    @property
    def place(self) -> str:
        return f"{self.held.file.path}:{self.value.lineno}"


def set_in_code(job: Job, fix: Fix) -> Job | None:
    """The job with a fix in the user's own code; None where that holds no place for it.

    Raises:
        Refusal: the code computes it, or the file that must change is not given.
    """
    seconds = wanted_limit(fix)
    said = [] if seconds is None else list(_timeouts(job))
    if seconds is None or not said:
        return edit_code(job, fix, seconds)
    if len(said) > 1:
        places = ", ".join(one.place for one in said)
        raise Refusal(f"the timeout is set {len(said)} times in code ({places})")
    (only,) = said
    wanted = -(-seconds // _SECONDS[only.unit])
    if isinstance(only.value, ast.Constant):
        return _replaced(job, only.held, only.value, wanted)
    name = only.value.attr if isinstance(only.value, ast.Attribute) else ""
    if not name:
        raise Refusal(f"{only.place} computes the timeout: set it there to {wanted} {only.unit}")
    return _by_flag(job, only, name, wanted, fix)


def wanted_limit(fix: Fix) -> int | None:
    """The seconds of a fix that lengthens the timeout of the world group."""
    if fix.remedy:
        return None
    if (found := _IN_PATCH.search(fix.patch)) is not None:
        return int(found[1])
    for name, value in _EXPORT.findall(fix.patch):
        for knob in timeout_knobs(fix.framework, fix.version):
            if knob.key == name and knob.unit in ("s", "min"):
                return int(value) * (60 if knob.unit == "min" else 1)
    for knob in timeout_knobs(fix.framework, fix.version):
        numbers = map(int, _NUMBER.findall(fix.patch))
        seconds = (n * (60 if knob.unit == "min" else 1) for n in numbers)
        found_s = next((s for s in seconds if knob.code and knob.write(s) == fix.patch), None)
        if found_s is not None:
            return found_s
    return None


def _timeouts(job: Job) -> Iterator[_Said]:
    for held in job.documents:
        if held.file.language is not Language.CODE:
            continue
        try:
            tree = ast.parse(held.file.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _name(node.func) in _MAKERS:
                yield from _of_call(held, node)


def _of_call(held: Held, call: ast.Call) -> Iterator[_Said]:
    for keyword in call.keywords:
        match keyword.value:
            case ast.Call(func=func, args=[], keywords=[ast.keyword(arg=str(unit), value=value)]):
                if keyword.arg == "timeout" and _name(func) == "timedelta" and unit in _SECONDS:
                    yield _Said(held, unit, value)
            case _:
                pass


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _by_flag(job: Job, said: _Said, name: str, wanted: int, fix: Fix) -> Job:
    """The launch with another value of the flag that the code takes the timeout from."""
    for held in job.documents:
        if held.file.language is Language.SHELL and plain(name) in held.settings:
            if held.owner is None:
                raise Refusal(f"`--{name}` is set in {held.file.path}: give that file too")
            _refuse_shorter(f"--{name}", held.settings[plain(name)], wanted)
            text = shell_editor.set_flag(
                held.file.text, name, str(wanted), fix.framework, newline=held.file.newline
            )
            return job.with_text(held, text)
    raise Refusal(f"{said.place} takes it from `{name}`: start the job with --{name} {wanted}")


def _replaced(job: Job, held: Held, value: ast.Constant, wanted: int) -> Job:
    place = f"{held.file.path}:{value.lineno}"
    _refuse_shorter(place, str(value.value), wanted)
    if held.owner is None:
        raise Refusal(f"{place} sets it: give that file too")
    lines = held.file.text.splitlines(keepends=True)
    line = lines[value.lineno - 1].encode()
    end = value.end_col_offset or value.col_offset
    lines[value.lineno - 1] = (
        line[: value.col_offset] + str(wanted).encode() + line[end:]
    ).decode()
    text = "".join(lines)
    ast.parse(text)
    return job.with_text(held, text)


def _refuse_shorter(where: str, present: str, wanted: int) -> None:
    try:
        longer = float(present) >= wanted
    except ValueError as error:
        raise Refusal(f"{where} is {present}: set {wanted} where its value comes from") from error
    if longer:
        raise Refusal(f"{where} is already {present}: another limit ran out")
