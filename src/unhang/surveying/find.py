"""From folders to jobs: which files belong together."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from unhang.errors import UsageError
from unhang.model.provenance import Problem

_EXTENSIONS = re.compile(
    r"(\.(out|err|log|txt|verdict|json|jsonl|tar|zip|tgz|gz|bz2|xz|zst|o(?=\d)|e(?=\d)))+$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:(?<=slurm-)\d+|\d{3,})(_\d+)?")
"""A scheduler's job number, with the index of an array as Slurm's `%A_%a` writes it."""
_PART = re.compile(
    r"[-_.](?:(?:local_?)?rank|node|worker|master|leader|launcher|head|chief|gpu|task|replica|pod"
    r"|stdout|stderr|out|err)?[-_.]?\d*$",
    re.IGNORECASE,
)
"""What tells the files of one job apart: `-worker-3`, `.rank7`, `_stderr`."""
_RUN_RECORD = "run.json"
_MOST_FILES = 200_000


@dataclass(frozen=True, slots=True)
class JobFiles:
    """The files of one job.

    Attributes:
        name: of the job, below the root.
        paths: what is given to the judge: files, or one folder.
        fingerprint: changes when a file does, or the release that judges.
    """

    name: str
    paths: tuple[str, ...]
    fingerprint: str


def find_jobs(roots: Iterable[str], depth: int = 1) -> tuple[list[JobFiles], list[Problem]]:
    """Find the jobs below folders.

    A run folder (`unhang run`) is a job wherever it lies. Other folders `depth` levels below a root
    are a job each, unless their files carry different job numbers (`slurm-123.out`,
    `train-124.err`): then all files of one number are a job. Above that level, files are grouped by
    job number, or by what is left of their names without rank, node, worker and extension.

    Args:
        roots: folders.
        depth: levels from a root to the folders that are jobs; 0 = each root is a job.

    Raises:
        UsageError: a root is no folder, or holds no file.
    """
    jobs: list[JobFiles] = []
    problems: list[Problem] = []
    for root in roots:
        if not Path(root).is_dir():
            raise UsageError(
                f"{root} is not a folder; expected a folder of jobs (for one job: unhang diagnose)"
            )
        jobs += _in(Path(root), Path(root), depth, problems)
    if not jobs:
        raise UsageError("found no job: the given folders hold no files")
    return jobs, problems


def _in(folder: Path, root: Path, depth: int, problems: list[Problem]) -> Iterator[JobFiles]:
    files, folders = _entries(folder, problems)
    if any(path.name == _RUN_RECORD for path in files):
        yield _job(folder, root, [folder], problems)
        return
    groups: dict[str, list[Path]] = {}
    for path in files:
        groups.setdefault(group_of(path.name), []).append(path)
    if depth <= 0 and len({key for key in groups if _NUMBER.search(key)}) < 2:
        if files or folders:
            yield _job(folder, root, [folder], problems)
        return
    for key, paths in sorted(groups.items()):
        yield _job(folder / key, root, paths, problems)
    for below in folders:
        yield from _in(below, root, depth - 1, problems)


def _entries(folder: Path, problems: list[Problem]) -> tuple[list[Path], list[Path]]:
    """Files and folders in `folder`, by name; links to folders are not followed."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        problems.append(_unreadable(folder, error))
        return [], []
    shown = [entry for entry in entries if not entry.name.startswith(".")]
    folders = [Path(e.path) for e in shown if e.is_dir(follow_symlinks=False)]
    return [Path(e.path) for e in shown if e.is_file()], folders


def group_of(name: str) -> str:
    """What the names of one job's files have in common.

    >>> group_of("slurm-1234_7.out"), group_of("train.e1234"), group_of("llama-worker-3.log.gz")
    ('1234_7', '1234', 'llama')
    """
    number = _NUMBER.search(name)
    if number is not None:
        return number[0]
    stem = _EXTENSIONS.sub("", name) or name
    while (shorter := _PART.sub("", stem)) not in ("", stem):
        stem = shorter
    return stem


def _job(name: Path, root: Path, paths: list[Path], problems: list[Problem]) -> JobFiles:
    seen = hashlib.sha256(version("unhang").encode())
    for path in paths:
        for file in _files(path, problems):
            try:
                status = file.stat()
            except OSError as error:
                problems.append(_unreadable(file, error))
                continue
            seen.update(
                f"\0{file}\0{status.st_size}\0{status.st_mtime_ns}".encode(errors="replace")
            )
    relative = os.path.relpath(name, root)
    title = root.name if relative == "." else relative
    return JobFiles(title, tuple(map(str, paths)), seen.hexdigest()[:32])


def _files(path: Path, problems: list[Problem]) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    count = 0
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > _MOST_FILES:
                told = f"more than {_MOST_FILES} files: changes of the others are not noticed"
                problems.append(Problem(artifact=str(path), component="fleet", message=told))
                return
            yield Path(folder, name)


def _unreadable(path: Path, error: OSError) -> Problem:
    return Problem(artifact=str(path), component="fleet", message=error.strerror or str(error))
