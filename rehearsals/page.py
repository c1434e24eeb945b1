"""From a rehearsal to its page of documentation, with the real output and no path of a machine."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from rehearsals.record import AttemptEnd, Live, Rehearsal
from rehearsals.rehearsal import WIDTH
from rehearsals.situation import Situation
from rehearsals.workplace import SCRIPTS
from unhang.model.toml import loads

Say = Callable[[str], str]
"""From an English sentence of a page to that of its language."""

_EXCERPT_LINES = 14
_LONGEST = 240
_LONG_WORD = 40
"""A word that fills a column of a report, and so may go on below."""
_PATHS = (
    (re.compile(r"[^\s\"'`(]*/site-packages/"), "site-packages/"),
    (re.compile(r"[^\s\"'`(]*/overlays/[\w.]+/"), "site-packages/"),
    (re.compile(r"[^\s\"'`(]*/rehearsals/scripts/site/"), ""),
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
    """Write `<name>.md`, and `<name>.zh.md` in Chinese, each with what the commands print in it.

    Args:
        situation: what was rehearsed.
        found: by the rehearsal.
        place: the folder of the rehearsal, in which the failed job's log lies.
        folder: of the pages.
    """
    printed = (place / "logs" / "merged.log").read_text("utf-8", "replace")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{situation.name}.md"
    chinese = {name.removesuffix(".zh"): found.shown[name] for name in sorted(found.shown)}
    for each, say, shown in (
        (path, _as_it_is, found.shown),
        (path.with_suffix(".zh.md"), in_chinese, chinese),
    ):
        told = replace(found, shown=shown)
        text = "\n".join(_sections(situation, told, printed, say))
        each.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    return path


def patches_of(situation: Situation) -> Mapping[str, str]:
    """What each patch and fault of a situation says of itself, by its module."""
    told = {}
    for name in (*situation.patches, *situation.fault):
        source = (SCRIPTS / "site" / "situation_site" / f"{name}.py").read_text(encoding="utf-8")
        told[name] = " ".join((ast.get_docstring(ast.parse(source)) or "").split())
    return told


def in_chinese(english: str) -> str:
    """The Chinese of a sentence of the pages; a `KeyError` says that it has none."""
    return _chinese()[english]


def _as_it_is(english: str) -> str:
    return english


@cache
def _chinese() -> Mapping[str, str]:
    sentences: Mapping[str, str] = loads(
        (Path(__file__).parent / "chinese.toml").read_text(encoding="utf-8")
    )
    return sentences


def _sections(situation: Situation, found: Rehearsal, printed: str, say: Say) -> Iterator[str]:
    """What a reader with that failure wants first: the symptom, the remedy; the report follows."""
    yield f"# {situation.name}\n"
    yield say("{what}.").format(what=say(situation.summary)) + "\n"
    told = say("`unhang drill rehearse {name}` wrote this page. [中文]({name}.zh.md)")
    yield told.format(name=situation.name) + "\n"
    yield f"## {say('It fails')}\n"
    yield say("The job ends {ended}.").format(ended=_ended(found.before, say)) + "\n"
    yield _block("\n".join(_excerpt(situation, printed)))
    yield from _remedy(situation, found, say)
    yield f"\n## {say('The verdict from the logs alone')}\n"
    yield _block(found.shown["logs"])
    if situation.logs_lack is not None:
        yield f"\n{say('What the logs lack: {what}').format(what=say(situation.logs_lack))}"
    yield f"\n## {say('The verdict with dumps, stacks and the launch script')}\n"
    yield _block(found.shown["everything"])
    yield f"\n## {say('What `unhang lint` says of the job')}\n"
    yield _block(found.shown["lint"])
    if found.live is not None:
        yield from _live(situation, found.live, found.patient, say)
    yield f"\n## {say('What is real')}\n"
    versions = say("Versions: {versions}.").format(versions=_versions(found))
    yield say("{real} {versions}").format(real=say(situation.real), versions=versions) + "\n"
    yield say("Played: {what}").format(what=say(situation.played)) + "\n"
    yield say("Put into the processes, outside of the framework's files:") + "\n"
    for name, says in patches_of(situation).items():
        yield say("- `{name}`: {says}").format(name=name, says=say(says))


def _remedy(situation: Situation, found: Rehearsal, say: Say) -> Iterator[str]:
    remedy = situation.remedy
    yield f"\n## {say('The remedy')}\n\n{say(remedy.says)}\n"
    if "fix" in found.shown:
        yield _block(found.shown["fix"])
    for name, old, new in remedy.edits:
        yield _by_hand(name, old.strip(), new.strip(), say)
    if "probe" in found.shown:
        again = say("With what it wrote, the job fails again: {how}.")
        yield f"\n{again.format(how=found.shown['probe'])}"
    if remedy.first:
        yield f"\n{say('First, once: `{command}`.').format(command=' '.join(remedy.first))}"
    healed = say("The fault is gone" if remedy.healed else "The same fault is there")
    word, ended = say(found.after.word), _ended(found.after, say)
    told = say("{fault}, and the job {word}: {ended}.")
    yield f"\n{told.format(fault=healed, word=word, ended=ended)}"


def _by_hand(name: str, old: str, new: str, say: Say) -> str:
    if "\n" in new:
        where = say("By hand in `{name}`, in place of `{old}`:").format(name=name, old=old)
        return f"{where}\n\n```python\n{new}\n```"
    return say("By hand in `{name}`: `{old}` becomes `{new}`.").format(name=name, old=old, new=new)


def _live(situation: Situation, live: Live, patient: Live | None, say: Say) -> Iterator[str]:
    yield f"\n## {say('Under `unhang run`')}\n"
    told = say("With `--on-hang abort` {said}; the job {how}.")
    yield told.format(said=_said(situation, live, say), how=_how(live.ending, say))
    if patient is not None:
        wanted = say("legitimate work" if situation.legitimate else "a real hang")
        told = say("With `--timeouts judge` as well, unchanged ({wanted}), {said}; the job {how}.")
        said, how = _said(situation, patient, say), _how(patient.ending, say)
        yield f"\n{told.format(wanted=wanted, said=said, how=how)}"


def _said(situation: Situation, live: Live, say: Say) -> str:
    accused = ", ".join(map(str, live.said.accused))
    if accused:
        return say("rank {ranks} is accused, which is wrong").format(ranks=accused)
    if live.said.named_after_s is None:
        return say("no event names the late rank")
    told = say("rank {ranks} is named {seconds} s after the fault (`{kind}`)")
    ranks = ", ".join(map(str, sorted(situation.culprits)))
    return told.format(ranks=ranks, seconds=live.said.named_after_s, kind=live.said.kind)


def _how(ending: AttemptEnd, say: Say) -> str:
    return f"{say(ending.word)}{say(', ')}{_ended(ending, say)}"


def _ended(ending: AttemptEnd, say: Say) -> str:
    code = say("was ended" if ending.exit_code is None else "exit code {code}")
    told = say("after {seconds} s, {code}")
    return told.format(seconds=f"{ending.seconds:.0f}", code=code.format(code=ending.exit_code))


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
