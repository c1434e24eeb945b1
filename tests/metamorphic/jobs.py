"""Jobs as files in memory: read, changed, written elsewhere and judged."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import unhang
from score.corpus import Case, find_corpora
from unhang.model.finding import Strength

Files: TypeAlias = Mapping[str, bytes]

REPOSITORY = Path(__file__).resolve().parents[2]
EXTERNAL = Path(os.environ.get("UNHANG_CORPORA", REPOSITORY.parent / "shared"))
LARGEST = 400_000
"""Bytes: larger external logs cost more than they would tell."""

LATER_LINES_ACQUIT = frozenset(
    {
        "healthy-after-a-restart",
        "healthy-handled-exceptions",
        "two-runs-in-one-file",
        "healthy-trainer-with-ignored-exception",
        "finished-then-time-limit",
    }
)
"""Jobs that look guilty half-way: what comes later clears them, or is another run."""

ORDER = {None: 0, Strength.HINTS: 1, Strength.SUPPORTS: 2, Strength.PROVES: 3}


@dataclass(frozen=True, slots=True)
class Said:
    """What has to stay equal when a change does not matter."""

    outcome: str
    cause: str | None
    strength: Strength | None
    culprits: frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A labelled job in memory."""

    case: Case
    files: Files

    def __str__(self) -> str:
        return f"{self.case.corpus}-{self.case.name}"


@cache
def read_jobs(*, own: bool) -> list[Job]:
    """The project's own jobs, or the external ones as far as they are there and small."""
    corpora = [c for c in find_corpora(REPOSITORY, EXTERNAL) if c.own is own]
    jobs = (Job(case, read_files(case.inputs)) for corpus in corpora for case in corpus.cases())
    return [job for job in jobs if sum(map(len, job.files.values())) < LARGEST]


def read_files(inputs: Iterable[Path]) -> Files:
    """Some files, and all files below some folders, by their path."""
    files: dict[str, bytes] = {}
    for path in inputs:
        if path.is_file():
            files[path.name] = path.read_bytes()
        else:
            found = sorted(p for p in path.rglob("*") if p.is_file())
            files |= {str(p.relative_to(path)): p.read_bytes() for p in found}
    return files


@cache
def judge_untouched(job: Job) -> Said:
    """The verdict on a job as it is; all tests of one process share it."""
    with tempfile.TemporaryDirectory() as folder:
        return judge(job.files, Path(folder))


def judge_changed(job: Job, files: Files, folder: Path) -> Said:
    """The verdict on a job's files after a change; where it changed nothing, the one before it."""
    return judge_untouched(job) if files == job.files else judge(files, folder)


def judge(files: Files, folder: Path, order: Iterable[str] | None = None) -> Said:
    """Write the files below `folder` and diagnose them, one by one in `order` if it is given."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    paths = [str(folder)] if order is None else [str(folder / name) for name in order]
    found = unhang.diagnose(*paths)
    return Said(
        outcome=found.outcome.value,
        cause=None if found.cause is None else found.cause.value,
        strength=found.strength,
        culprits=frozenset(int(r) for r in found.culprits),
    )
