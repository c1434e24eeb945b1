"""A rehearsal: the job fails, is judged, is mended, finishes; then the same under the watch."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rehearsals.record import AttemptEnd, Live, Rehearsal
from rehearsals.situation import Situation
from rehearsals.watching import what_was_said
from rehearsals.workplace import Attempt, Workplace
from unhang.errors import UsageError
from unhang.lab.ending import ended_in_order
from unhang.lab.leftovers import LeftBehind
from unhang.lab.scoring import Judged, judge_drill
from unhang.lab.truth import Truth
from unhang.model.causes import Cause
from unhang.model.ids import Rank

Tell = Callable[[str], None]

_COMMAND_LIMIT_S = 120
_MENDED, _LIVE, _JUDGED = "mended", "live", "judged"
"""Folders of the attempts after the first."""

_LANGUAGES = (("", "en"), (".zh", "zh"))
"""What is added to the names of what they print, and their language."""

WIDTH = 100
"""Columns of what the commands print."""


def fail(situation: Situation, out: Path, *, live: bool = False) -> Truth:
    """Run the job with its fault, and write the truth beside what it leaves.

    Args:
        situation: which one.
        out: a new or empty folder.
        live: run it under `unhang run`.

    Raises:
        UsageError: the folder is in use, or the job did not fail as it should.
    """
    with ended_in_order():
        return _fail(situation, Workplace(situation, out), live=live)[1]


def _fail(situation: Situation, place: Workplace, *, live: bool) -> tuple[Attempt, Truth]:
    place.prepare()
    attempt = place.run(evidence=not live, watched=() if live else None)
    place.tidy()
    truth = _truth(situation, attempt)
    truth.write(place.folder.root)
    failed = attempt.exit_code != 0 and (live or situation.fails_with in attempt.printed)
    if not failed:
        raise UsageError(
            f"{situation.name} should have failed with {situation.fails_with!r}, but ended with "
            f"{attempt.exit_code}; read {place.folder.logs}"
        )
    return attempt, truth


def rehearse(situation: Situation, out: Path, *, live: bool, tell: Tell) -> Rehearsal:
    """Go through a situation from its failure to its finish.

    Args:
        situation: which one.
        out: a new or empty folder.
        live: also under `unhang run`.
        tell: is told each step in one line.

    Raises:
        UsageError: the folder is in use, or a step could not be carried out.
    """
    began = time.monotonic()
    with ended_in_order(), LeftBehind(out) as left:
        found = _rehearsed(situation, out, live=live, tell=tell)
    seconds = round(time.monotonic() - began, 1)
    found = replace(found, left=tuple(left.names()), seconds=seconds)
    found.write(out)
    return found


def judge_again(situation: Situation, found: Rehearsal, out: Path, *, tell: Tell) -> Rehearsal:
    """Judge anew what a rehearsal left, and let the commands speak again; no job is run.

    Args:
        situation: which one.
        found: by the rehearsal.
        out: its folder.
        tell: is told the verdicts.
    """
    judged = _judged(out, tell)
    shown = {**found.shown, **_show(Workplace(situation, out))}
    again = replace(found, judged=judged, shown=shown)
    again.write(out)
    return again


def _rehearsed(situation: Situation, out: Path, *, live: bool, tell: Tell) -> Rehearsal:
    place = Workplace(situation, out)
    attempt, _ = _fail(situation, place, live=False)
    tell(f"{situation.name}: failed after {attempt.seconds} s, as expected")
    judged = _judged(place.folder.root, tell)
    shown = _show(place)
    after = _mend(situation, place, shown)
    tell(f"  {_word(after)} with its remedy (by {situation.remedy.by}), after {after.seconds} s")
    watched = patient = None
    if live:
        watched = _watch(situation, out / _LIVE, "--on-hang", "abort")
        tell(f"  {_heard(watched)}, and the job {watched.ending.word}")
        patient = _watch(situation, out / _JUDGED, "--on-hang", "abort", "--timeouts", "judge")
        tell(f"  --timeouts judge: {_heard(patient)}, and the job {patient.ending.word}")
    return Rehearsal(
        name=situation.name,
        versions=dict(situation.versions),
        before=_ending(situation, attempt),
        judged=judged,
        shown=shown,
        after=after,
        live=watched,
        patient=patient,
    )


def _judged(folder: Path, tell: Tell) -> tuple[Judged, ...]:
    judged = judge_drill(folder).judged
    for verdict in judged:
        tell(f"  {verdict.mark.value:<12} {verdict.sources}: {verdict.said} {verdict.culprits}")
    return judged


def _truth(situation: Situation, attempt: Attempt) -> Truth:
    accept = (situation.cause.value, *situation.accept)
    return Truth(
        drill=situation.name,
        cause=situation.cause.value,
        culprits=tuple(sorted(situation.culprits)),
        accept=accept,
        must_not=tuple(cause.value for cause in Cause if cause.value not in accept),
        phase=None if situation.phase is None else situation.phase.value,
        at=attempt.moments[-1] if attempt.moments else None,
        world_size=situation.world,
        finishes=False,
        exit_code=attempt.exit_code,
        seconds=attempt.seconds,
        torch=situation.environment.version("torch"),
    )


def _show(place: Workplace) -> dict[str, str]:
    """What the commands print about a failed job; the verdict stays beside it as JSON.

    What they print in Chinese is called `logs.zh` and so on.
    """
    return {
        f"{name}{suffix}": text
        for suffix, language in _LANGUAGES
        for name, text in _show_in(language, place, f"verdict{suffix}.json").items()
    }


def _show_in(language: str, place: Workplace, verdict: str) -> dict[str, str]:
    everything = ("logs", "dumps", "stacks")
    told = _unhang(place, "diagnose", "--format", "json", "--lang", language, *everything)
    (place.folder.root / verdict).write_text(told, encoding="utf-8")
    asked = {
        "logs": ("diagnose", "logs"),
        "everything": ("diagnose", *everything, *_written(place)),
        "lint": ("lint", *_release(place.situation), "job"),
    }
    return {
        name: _unhang(place, *words, "--no-color", "--lang", language)
        for name, words in asked.items()
    }


def _written(place: Workplace) -> tuple[str, ...]:
    """What a user would add: the launch script, and the configuration that it names."""
    names = (place.situation.command[-1], *place.situation.remedy.files)
    return tuple(dict.fromkeys(f"job/{name}" for name in names))


def _release(situation: Situation) -> tuple[str, ...]:
    if situation.lint_as is None:
        return ()
    version = situation.environment.version(situation.lint_as)
    return "--framework", f"{situation.lint_as}=={version}"


def _mend(situation: Situation, place: Workplace, shown: dict[str, str]) -> AttemptEnd:
    """Apply the remedy to a fresh copy of the job and run it, with the same fault unless healed.

    Raises:
        UsageError: `unhang fix` left to a person what it was to write, or the other way round; or
            the job finished with a fault that no setting heals.
    """
    remedy = situation.remedy
    mended = Workplace(situation, place.folder.root / _MENDED)
    mended.prepare()
    files = [mended.job / name for name in remedy.files]
    before = [file.read_bytes() for file in files]
    paths = [f"{_MENDED}/job/{name}" for name in remedy.files]
    for suffix, language in _LANGUAGES:
        words = ("--no-color", "--lang", language, *paths, "--from", f"verdict{suffix}.json")
        shown[f"fix{suffix}"] = _unhang(place, "fix", *words)
    _unhang(place, "fix", *paths, "--from", "verdict.json", "--apply")
    written = [file.read_bytes() for file in files] != before
    if written is not remedy.written:
        did = "wrote into" if written else "left alone"
        raise UsageError(f"`unhang fix` {did} the files of {situation.name}:\n{shown['fix']}")
    for name, old, new in remedy.edits:
        _edit(mended.job / name, old, new)
    if remedy.first:
        mended.call(*remedy.first, patched=True)
    attempt = mended.run()
    if remedy.healed:
        if attempt.exit_code == 0:
            raise UsageError(f"{situation.name} finished without the repair that it needs")
        shown["probe"] = f"after {attempt.seconds:.0f} s"
        attempt = mended.run(faults=False)
    mended.tidy()
    return _ending(situation, attempt)


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    if old not in text:
        raise UsageError(f"{path} holds no {old!r}, which the remedy of the situation changes")
    path.write_text(text.replace(old, new), encoding="utf-8")


def _watch(situation: Situation, out: Path, *options: str) -> Live:
    """Run the job, with its fault, under `unhang run`."""
    place = Workplace(situation, out)
    place.prepare()
    attempt = place.run(watched=options)
    place.tidy()
    culprits = frozenset(map(Rank, situation.culprits))
    said = what_was_said(place.folder.run, culprits, attempt.moments)
    return Live(said=said, ending=_ending(situation, attempt))


def _ending(situation: Situation, attempt: Attempt) -> AttemptEnd:
    return AttemptEnd(
        finished=attempt.exit_code == 0 and situation.finishes_with in attempt.printed,
        seconds=attempt.seconds,
        exit_code=attempt.exit_code,
    )


def _heard(live: Live) -> str:
    if live.said.named_after_s is None:
        return "the late rank is not named live"
    return f"named live after {live.said.named_after_s} s ({live.said.kind})"


def _word(ending: AttemptEnd) -> str:
    return "finished" if ending.finished else f"NOT finished ({ending.exit_code})"


def _unhang(place: Workplace, *words: str) -> str:
    """What a command of unhang prints, run in the folder so that paths are short."""
    done = subprocess.run(
        [sys.executable, "-m", "unhang", *words],
        cwd=place.folder.root,
        env={**os.environ, "COLUMNS": str(WIDTH), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=_COMMAND_LIMIT_S,
        check=False,
    )
    return done.stdout + done.stderr
