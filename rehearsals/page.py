"""From a rehearsal to its page of documentation, with the real output and no path of a machine."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from rehearsals.record import AttemptEnd, Live, Rehearsal
from rehearsals.rehearsal import WIDTH
from rehearsals.situation import Situation
from rehearsals.workplace import SCRIPTS

_EXCERPT_LINES = 14
_LONGEST = 240
_LONG_WORD = 40
"""A word that fills a column of a report, and so may go on below."""
_PATHS = (
    (re.compile(r"[^\s\"'`(]*/site-packages/"), "site-packages/"),
    (re.compile(r"[^\s\"'`(]*/overlays/[\w.]+/"), "site-packages/"),
    (re.compile(r"[^\s\"'`(]*/situations/scripts/site/"), ""),
    (re.compile(r"[^\s\"'`(]*/lib/python3\.\d+/"), "python/"),
    (re.compile(r"[^\s\"'`(]*/bin/(?=python|torchrun)"), ""),
    (re.compile(r"/[^\s\"'`(]*/unhang/drills/[^\s\"'`]*…"), "site-packages/…"),
    (re.compile(r"/__w/pytorch/pytorch/"), ""),
    (re.compile(r"/[^\s\"'`(]*/job/"), ""),
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TELLING = re.compile(
    r"Error|Timed out|Saving|Writing|Loading|loading|Eval Epoch|step|loss|Training Progress"
    r"|terminated with"
)
_NOISE = re.compile(r"Warning|ChainedAssignment|^\w+ = ")


def write_page(situation: Situation, found: Rehearsal, place: Path, folder: Path) -> Path:
    """Write `<name>.md`.

    Args:
        situation: what was rehearsed.
        found: by the rehearsal.
        place: the folder of the rehearsal, in which the failed job's log lies.
        folder: of the pages.
    """
    printed = (place / "logs" / "merged.log").read_text("utf-8", "replace")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{situation.name}.md"
    text = "\n".join(_sections(situation, found, printed))
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    return path


def patches_of(situation: Situation) -> Mapping[str, str]:
    """What each patch and fault of a situation says of itself, by its module."""
    told = {}
    for name in (*situation.patches, *situation.fault):
        source = (SCRIPTS / "site" / "situation_site" / f"{name}.py").read_text(encoding="utf-8")
        told[name] = " ".join((ast.get_docstring(ast.parse(source)) or "").split())
    return told


def _sections(situation: Situation, found: Rehearsal, printed: str) -> Iterator[str]:
    """What a reader with that failure wants first: the symptom, the remedy; the report follows."""
    yield f"# {situation.name}\n"
    yield f"{situation.summary}.\n"
    yield f"`unhang drill rehearse {situation.name}` wrote this page.\n"
    yield f"## It fails\n\nThe job ends {_ended(found.before)}.\n"
    yield _block("\n".join(_excerpt(situation, printed)))
    yield from _remedy(situation, found)
    yield "\n## The verdict from the logs alone\n"
    yield _block(found.shown["logs"])
    if situation.logs_lack is not None:
        yield f"\nWhat the logs lack: {situation.logs_lack}"
    yield "\n## The verdict with dumps, stacks and the launch script\n"
    yield _block(found.shown["everything"])
    yield "\n## What `unhang lint` says of the job\n"
    yield _block(found.shown["lint"])
    if found.live is not None:
        yield from _live(situation, found.live, found.patient)
    yield "\n## What is real\n"
    yield f"{situation.real} Versions: {_versions(found)}.\n"
    yield f"Played: {situation.played}\n"
    yield "Put into the processes, outside of the framework's files:\n"
    for name, says in patches_of(situation).items():
        yield f"- `{name}`: {says}"


def _remedy(situation: Situation, found: Rehearsal) -> Iterator[str]:
    remedy = situation.remedy
    yield f"\n## The remedy\n\n{remedy.says}\n"
    if "fix" in found.shown:
        yield _block(found.shown["fix"])
    for name, old, new in remedy.edits:
        yield _by_hand(name, old.strip(), new.strip())
    if "probe" in found.shown:
        yield f"\nWith what it wrote, the job fails again: {found.shown['probe']}."
    if remedy.first:
        yield f"\nFirst, once: `{' '.join(remedy.first)}`."
    again = "The fault is gone" if remedy.healed else "The same fault is there"
    yield f"\n{again}, and the job {found.after.word}: {_ended(found.after)}."


def _by_hand(name: str, old: str, new: str) -> str:
    if "\n" in new:
        return f"By hand in `{name}`, in place of `{old}`:\n\n```python\n{new}\n```"
    return f"By hand in `{name}`: `{old}` becomes `{new}`."


def _live(situation: Situation, live: Live, patient: Live | None) -> Iterator[str]:
    yield "\n## Under `unhang run`\n"
    yield f"With `--on-hang abort` {_said(situation, live)}; the job {_how(live.ending)}."
    if patient is not None:
        wanted = "legitimate work" if situation.legitimate else "a real hang"
        yield (
            f"\nWith `--timeouts judge` as well, unchanged ({wanted}),"
            f" {_said(situation, patient)}; the job {_how(patient.ending)}."
        )


def _said(situation: Situation, live: Live) -> str:
    accused = ", ".join(map(str, live.said.accused))
    if accused:
        return f"rank {accused} is accused, which is wrong"
    if live.said.named_after_s is None:
        return "no event names the late rank"
    ranks = ", ".join(map(str, sorted(situation.culprits)))
    return f"rank {ranks} is named {live.said.named_after_s} s after the fault (`{live.said.kind}`)"


def _how(ending: AttemptEnd) -> str:
    return f"{ending.word}, {_ended(ending)}"


def _ended(ending: AttemptEnd) -> str:
    code = "was ended" if ending.exit_code is None else f"exit code {ending.exit_code}"
    return f"after {ending.seconds:.0f} s, {code}"


def _versions(found: Rehearsal) -> str:
    return ", ".join(f"{name} {version}" for name, version in found.versions.items())


def _excerpt(situation: Situation, printed: str) -> list[str]:
    """The lines that tell, with the words of the failure among the last."""
    lines = [_COLOUR.sub("", part) for line in printed.splitlines() for part in line.split("\r")]
    end = next((i for i, line in enumerate(lines) if situation.fails_with in line), len(lines) - 1)
    telling = [t for t in lines[:end] if _TELLING.search(t) and not _NOISE.search(t)]
    return [_short(line) for line in (*telling[-_EXCERPT_LINES:], lines[end])]


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _block(text: str) -> str:
    """Text of a terminal in a fence, without paths of this machine, at a readable width."""
    text = "\n".join(_unbroken(_COLOUR.sub("", text).rstrip().splitlines()))
    for pattern, short in _PATHS:
        text = pattern.sub(short, text)
    lines = [part for line in text.splitlines() for part in _wrapped(line)]
    return "```text\n" + "\n".join(lines) + "\n```"


def _unbroken(lines: list[str]) -> Iterator[str]:
    """Lines in which no path is broken: a report breaks one where it fills the whole width."""
    whole = ""
    for i, line in enumerate(lines):
        whole += line.lstrip() if whole else line
        last = line.split()[-1:] or [""]
        if len(line) >= WIDTH and len(last[0]) >= _LONG_WORD and i + 1 < len(lines):
            continue
        yield whole
        whole = ""


def _wrapped(line: str) -> list[str]:
    margin = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(
        line,
        WIDTH,
        subsequent_indent=margin,
        drop_whitespace=True,
        replace_whitespace=False,
        break_on_hyphens=False,
    ) or [""]
