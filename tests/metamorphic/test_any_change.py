"""What is cut, lost, reordered, renamed or added proves nothing new and accuses nobody new.

A sample of the jobs and of the changes runs with the other tests; `UNHANG_CHANGES=200` tries so
many changes on every labelled job.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from metamorphic.jobs import (
    LATER_LINES_ACQUIT,
    ORDER,
    Files,
    Job,
    Said,
    judge,
    judge_untouched,
    read_jobs,
)
from metamorphic.quotes import CONTEXTS, GENUINE, healthy

CHANGES = int(os.environ.get("UNHANG_CHANGES", "0"))
SAMPLE = 12
_LABEL = re.compile(rb"(?<=[\s/\[(])(?:epoch|train|Training|eval|Saving|Loading)(?=[\s:])")
_HOSTS = re.compile(rb"\b(?:gpu|node|worker-)(\d{1,3})\b")

Change = Callable[[Files, random.Random], Files]


def cut_at_a_byte(files: Files, chance: random.Random) -> Files:
    """One file ends anywhere, also within a word."""
    name = chance.choice(sorted(files))
    return {**files, name: files[name][: chance.randrange(len(files[name]) + 1)]}


def last_lines_lost(files: Files, chance: random.Random) -> Files:
    """A killed process loses the end of what it had not flushed."""
    name = chance.choice(sorted(files))
    lines = files[name].splitlines(keepends=True)
    return {**files, name: b"".join(lines[: -chance.randint(1, 100)] or lines[:1])}


def a_rank_is_silent(files: Files, chance: random.Random) -> Files:
    """All lines of one rank are lost."""
    named = re.compile(rb"^\[rank(\d+)\]", re.MULTILINE)
    ranks = sorted({number for data in files.values() for number in named.findall(data)})
    if not ranks:
        return files
    gone = b"[rank%s]" % chance.choice(ranks)
    return {
        name: b"".join(x for x in data.splitlines(keepends=True) if not x.startswith(gone))
        or b"step 1\n"
        for name, data in files.items()
    }


def unknown_words(files: Files, chance: random.Random) -> Files:
    """Labels and hosts are called otherwise."""
    word = bytes(chance.choice(b"bcdfghjklmnp") for _ in range(6))
    return {name: _HOSTS.sub(rb"zz\1", _LABEL.sub(word, data)) for name, data in files.items()}


def an_innocent_file(files: Files, chance: random.Random) -> Files:
    """A healthy log, or one that quotes failures, lies beside the others."""
    text = GENUINE[chance.choice(sorted(GENUINE))]
    quoted = CONTEXTS[chance.choice(sorted(CONTEXTS.keys() - {"prose", "bullet"}))](text)
    return {**files, "other/notes.log": healthy(quoted, dated=False, finished=False).encode()}


ALL: dict[str, Change] = {
    "cut": cut_at_a_byte,
    "tail": last_lines_lost,
    "silent": a_rank_is_silent,
    "words": unknown_words,
    "innocent": an_innocent_file,
}


def _jobs() -> list[Job]:
    jobs = read_jobs(own=True) + (read_jobs(own=False) if CHANGES else [])
    jobs = [job for job in jobs if job.case.name not in LATER_LINES_ACQUIT]
    return jobs if CHANGES else random.Random(20_261).sample(jobs, SAMPLE)


@pytest.mark.parametrize("how", ALL)
@pytest.mark.parametrize("job", _jobs(), ids=str)
def test_nothing_new_is_proved(job: Job, how: str, tmp_path: Path) -> None:
    before = judge_untouched(job)
    chance = random.Random(f"{job}{how}")
    for number in range(max(CHANGES // len(ALL), 2)):
        folder = tmp_path / str(number)
        after = judge(ALL[how](job.files, chance), folder)
        assert _claims_no_more(job, before, after), f"{before} became {after}, see {folder}"


def _claims_no_more(job: Job, before: Said, after: Said) -> bool:
    """Weaker, or the same; another cause only where it is not proved, or the label accepts it."""
    proves = ORDER[after.strength] == ORDER[max(ORDER, key=lambda s: ORDER[s])]
    known = before.culprits | (job.case.culprits or frozenset())
    if proves and after.culprits and not after.culprits <= known and known:
        return False
    if after.cause is None:
        return True
    if after.cause == before.cause:
        return ORDER[after.strength] <= ORDER[before.strength]
    return after.cause in job.case.accept or not proves
