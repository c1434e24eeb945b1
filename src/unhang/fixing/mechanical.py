"""From findings of the lint to files with the same meaning in names and words that are understood.

Only what is mechanical is written: a new name of the same setting, a word in place of another that
means the same. The lint reads the result again, and must see this one setting changed, the finding
gone and no other in its place; else the file stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from unhang import lazy_re as re
from unhang.errors import UsageError
from unhang.fixing.config_file import ConfigFile, Language, read_target
from unhang.fixing.saving import save
from unhang.model.lint import LintFinding, LintReport
from unhang.model.rewrite import ChangedFile

Look = Callable[[str, str], LintReport]
"""Judges a text as the file of a path."""


def repair(report: LintReport, look: Look, *, write: bool) -> tuple[ChangedFile, ...]:
    """Return the files with every mechanical finding repaired.

    Args:
        report: what the lint found.
        look: judges a new text.
        write: put the texts in their places; else only return them.

    Raises:
        UsageError: a file changed meanwhile, or cannot be written.
    """
    by_file: dict[str, list[LintFinding]] = {}
    for finding in report.findings:
        if finding.mechanical and finding.where.line is not None:
            by_file.setdefault(finding.where.artifact, []).append(finding)
    changed: list[ChangedFile] = []
    for path, findings in by_file.items():
        target = _readable(path)
        if target is None:
            continue
        text = _repaired(target, findings, look)
        if text != target.text:
            if write:
                save({target: text}, keep=False)
            changed.append(ChangedFile(path=path, before=target.text, after=text))
    return tuple(changed)


def _readable(path: str) -> ConfigFile | None:
    """A file that may be changed: code is its author's."""
    try:
        target = read_target(path)
    except UsageError:
        return None
    return None if target.language is Language.CODE else target


def _repaired(target: ConfigFile, findings: Sequence[LintFinding], look: Look) -> str:
    text = target.text
    before = look(target.path, text)
    for finding in findings:
        new = _replaced(text, finding)
        if new is None:
            continue
        after = look(target.path, new)
        if _count(after) < _count(before) and not after.problems:
            text, before = new, after
    return text


def _count(report: LintReport) -> tuple[int, int]:
    """Findings worse than a remark, then all."""
    worse = Counter(finding.severity.value for finding in report.findings)
    return worse["error"] + worse["warning"], len(report.findings)


def _replaced(text: str, finding: LintFinding) -> str | None:
    """The text with a setting's name or value replaced, where it stands once in its line."""
    assert finding.where.line is not None
    lines = text.splitlines(keepends=True)
    if finding.where.line > len(lines) or finding.replacement is None:
        return None
    line = lines[finding.where.line - 1]
    name, sign, value = finding.replacement.partition("=")
    old_name = finding.setting
    if name.lstrip("+-") == old_name.lstrip("+-") and sign and finding.value:
        pattern = re.compile(
            rf"(?<![\w.+-]){re.escape(old_name)}([\"']?\s*[=:]\s*[\"']?|\s+[\"']?)"
            rf"{re.escape(finding.value)}(?![\w.-])"
        )
        new = name if old_name.startswith("+") else old_name
        changed, count = pattern.subn(lambda m: f"{new}{m[1]}{value}", line)
    else:
        dashes = old_name[: len(old_name) - len(old_name.lstrip("-"))]
        if any(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", other) for other in lines):
            return None  # Both names: which of the two counts is for the author to say.
        if "." in name and old_name.rpartition(".")[0] == name.rpartition(".")[0]:
            old_name, name = old_name.rpartition(".")[2], name.rpartition(".")[2]
        pattern = re.compile(rf"(?<![\w.]){re.escape(old_name)}(?![\w.-])")
        changed, count = pattern.subn(lambda _: f"{dashes}{name.lstrip('-')}", line)
    if count != 1:
        return None
    lines[finding.where.line - 1] = changed
    return "".join(lines)
