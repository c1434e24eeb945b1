"""From a rewritten file to a unified difference, to JSON, and to what is said beside it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from unhang import lazy_re as re
from unhang.model.diagnosis import Fix
from unhang.model.provenance import Message
from unhang.model.rewrite import ChangedFile, Rewrite
from unhang.reporters.catalogue import sentence
from unhang.reporters.catalogue.by_text import translated
from unhang.reporters.fields import fields
from unhang.reporters.json import dumps
from unhang.reporters.printable import one_line
from unhang.reporters.shown_reach import shown_reach
from unhang.reporters.style import PLAIN, Style

SCHEMA = "unhang.fix/1"
FORMS = ("diff", "json")
"""The forms of a rewrite."""

_COLORS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_PLAIN = "\x1b[0m"
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that act on a terminal; a tab and the ends of lines do no harm."""


def render_fix(rewrite: Rewrite, form: str, style: Style = PLAIN, *, exact: bool = True) -> str:
    """Return the difference, without its last line end, or JSON.

    Args:
        rewrite: the file before and after.
        form: one of `FORMS`.
        style: language and colour.
        exact: keep every character, as `patch` needs it; else none that acts on a terminal.
    """
    if form == "json":
        return dumps(_as_dict(rewrite, style.language))
    return render_files(rewrite.files, style, exact=exact)


def render_files(files: Sequence[ChangedFile], style: Style = PLAIN, *, exact: bool = True) -> str:
    """Return the difference of files, without its last line end; see `render_fix`."""
    text = _unified(files)
    if not exact:
        text = _ACTING.sub("\ufffd", text.replace("\r\n", "\n"))
    lines = text.split("\n")
    return "\n".join(map(_colored, lines) if style.color else lines)


def _unified(files: Sequence[ChangedFile]) -> str:
    """The difference as `patch -p0` takes it, without its last line end."""
    return "".join(map(_difference, files)).removesuffix("\n")


def _difference(file: ChangedFile) -> str:
    name = one_line(file.path)
    lines = difflib.unified_diff(_lines(file.before), _lines(file.after), name, name)
    marked = (
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return "".join(marked)


def render_notes(rewrite: Rewrite, style: Style = PLAIN) -> str:
    """What was done, what was not and why, and how to see that it works."""
    notes = (sentence(note, style.language) for note in _notes(rewrite, style.language))
    return "\n".join(one_line(note) for note in notes)


def _notes(rewrite: Rewrite, language: str) -> Iterator[Message]:
    for passed in rewrite.passed:
        yield Message(
            key="fixing.passed",
            values={
                "number": passed.number,
                "title": sentence(passed.fix.title, language),
                "reason": translated(passed.reason, language),
            },
        )
    for number, fix in rewrite.written:
        values = {
            "number": number,
            "title": sentence(fix.title, language),
            "reaches": shown_reach(fix.reaches, language),
            "risk": sentence(fix.risk, language),
            "verify": sentence(fix.verify, language),
        }
        yield Message(key="fixing.written", values=values)
        yield Message(key="fixing.risk", values=values)
        yield Message(key="fixing.verify", values=values)
    for remark in rewrite.remarks:
        yield Message(key="fixing.remark", values={"text": translated(remark, language)})
    if not rewrite.changed:
        yield Message(key="fixing.nothing", values={"path": rewrite.path})
    for file in rewrite.files:
        if file.backup is not None:
            values = {"path": file.path, "backup": file.backup}
            yield Message(key="fixing.applied", values=values)
        elif file.changed:
            yield Message(key="fixing.dry", values={"path": file.path})


def _as_dict(rewrite: Rewrite, language: str) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        **fields(rewrite, "path changed"),
        "applied": rewrite.backup is not None,
        "backup": rewrite.backup,
        "diff": _unified(rewrite.files),
        "files": [fields(file, "path changed backup") for file in rewrite.files],
        "fixes": [_fix(number, fix, language) for number, fix in rewrite.written],
        "passed": [
            {**_fix(passed.number, passed.fix, language), "reason": passed.reason}
            for passed in rewrite.passed
        ],
        "remarks": list(rewrite.remarks),
    }


def _fix(number: int, fix: Fix, language: str) -> dict[str, object]:
    told = fields(fix, "title kind framework where patch reaches risk verify", language)
    return {"number": number, **told}


def _lines(text: str) -> list[str]:
    """Lines with their ends; other characters that Python takes for line ends stay inside."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _colored(line: str) -> str:
    color = _COLORS.get(line[:1])
    return line if color is None or line[:3] in ("---", "+++") else f"{color}{line}{_PLAIN}"
