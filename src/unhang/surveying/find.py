"""From folders to jobs: which files belong together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn, Protocol

from unhang import lazy_re as re
from unhang.errors import UsageError
from unhang.model.provenance import Problem
from unhang.sources.discover import is_url
from unhang.sources.remote import listed

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
        roots: folders, or URLs of them (`s3://…`).
        depth: levels from a root to the folders that are jobs; 0 = each root is a job.

    Raises:
        UsageError: a root is no folder, or holds no file.
    """
    jobs: list[JobFiles] = []
    problems: list[Problem] = []
    for root in roots:
        tree = _Store(root) if is_url(root) else _Disk(root, problems)
        jobs += _in(tree, tree.root, depth)
    if not jobs:
        raise UsageError("found no job: the given folders hold no files")
    return jobs, problems


class _Tree(Protocol):
    """Folders on a disk or in a store."""

    @property
    def root(self) -> str: ...

    def entries(self, folder: str) -> tuple[list[str], list[str]]:
        """Files and folders in `folder`, by name."""

    def marks(self, path: str) -> Iterator[str]:
        """Of a file, or of each file below a folder: a text that changes when the file does."""


def _in(tree: _Tree, folder: str, depth: int) -> Iterator[JobFiles]:
    files, folders = tree.entries(folder)
    if f"{folder}/{_RUN_RECORD}" in files:
        yield _job(tree, folder, [folder])
        return
    groups: dict[str, list[str]] = {}
    for path in files:
        groups.setdefault(group_of(_last(path)), []).append(path)
    if depth <= 0 and len({key for key in groups if _NUMBER.search(key)}) < 2:
        if files or folders:
            yield _job(tree, folder, [folder])
        return
    for key, paths in sorted(groups.items()):
        yield _job(tree, f"{folder}/{key}", paths)
    for below in folders:
        yield from _in(tree, below, depth - 1)


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _job(tree: _Tree, name: str, paths: list[str]) -> JobFiles:
    seen = hashlib.sha256(_release())
    for path in paths:
        for mark in tree.marks(path):
            seen.update(f"\0{mark}".encode(errors="replace"))
    title = name.removeprefix(tree.root).strip("/") or _last(tree.root)
    return JobFiles(title, tuple(paths), seen.hexdigest()[:32])


@cache
def _release() -> bytes:
    """Looking it up takes longer than all else that is done of a job here."""
    return version("unhang").encode()


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


class _Disk:
    """Folders of this machine; links to folders are not followed."""

    def __init__(self, root: str, problems: list[Problem]) -> None:
        self.root = str(Path(root))
        self._problems = problems
        if not Path(root).is_dir():
            _refuse(root)

    def entries(self, folder: str) -> tuple[list[str], list[str]]:
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            self._unreadable(folder, error)
            return [], []
        shown = [entry for entry in entries if not entry.name.startswith(".")]
        folders = [f"{folder}/{e.name}" for e in shown if e.is_dir(follow_symlinks=False)]
        return [f"{folder}/{e.name}" for e in shown if e.is_file()], folders

    def marks(self, path: str) -> Iterator[str]:
        for file in self._files(path):
            try:
                status = os.stat(file)  # noqa: PTH116 (many thousands)
            except OSError as error:
                self._unreadable(file, error)
                continue
            yield f"{file}\0{status.st_size}\0{status.st_mtime_ns}"

    def _files(self, path: str) -> Iterator[str]:
        if not Path(path).is_dir():
            yield path
            return
        count = 0
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                count += 1
                if count > _MOST_FILES:
                    told = f"more than {_MOST_FILES} files: changes of the others are not noticed"
                    self._problems.append(Problem(artifact=path, component="fleet", message=told))
                    return
                yield f"{folder}/{name}"

    def _unreadable(self, path: str, error: OSError) -> None:
        message = error.strerror or str(error)
        self._problems.append(Problem(artifact=path, component="fleet", message=message))


class _Store:
    """Folders that a URL names; all that is below is listed once."""

    def __init__(self, url: str) -> None:
        found = listed(url)
        self.root = found.root
        self._marks = {file.url: file.mark for file in found.files}
        if self.root in self._marks:
            _refuse(url)
        self._below: dict[str, tuple[list[str], list[str]]] = {self.root: ([], [])}
        for path in self._marks:
            self._put(path, 0)

    def _put(self, path: str, kind: int) -> None:
        folder = path.rpartition("/")[0]
        if folder not in self._below:
            self._below[folder] = [], []
            self._put(folder, 1)
        self._below[folder][kind].append(path)

    def entries(self, folder: str) -> tuple[list[str], list[str]]:
        files, folders = (
            [path for path in sorted(paths) if not _last(path).startswith(".")]
            for paths in self._below[folder]
        )
        return files, folders

    def marks(self, path: str) -> Iterator[str]:
        if path in self._marks:
            yield f"{path}\0{self._marks[path]}"
            return
        files, folders = self._below[path]
        for below in (*sorted(files), *sorted(folders)):
            yield from self.marks(below)


def _refuse(root: str) -> NoReturn:
    raise UsageError(
        f"{root} is not a folder; expected a folder of jobs (for one job: unhang diagnose)"
    )
