"""From what a user names (files, folders, globs, archives, URLs, `-`) to artifacts."""

from __future__ import annotations

import glob
import os
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, cast

from unhang import lazy_re as re
from unhang.errors import UsageError
from unhang.model.provenance import NOBODY, Problem
from unhang.sources.archives import Budget, expand
from unhang.sources.artifact import Artifact
from unhang.sources.debug_page import is_debug_page
from unhang.sources.dump_kind import dump_form
from unhang.sources.hints import origin_of
from unhang.sources.kinds import SNIFF, is_data, is_source
from unhang.sources.notebook import SUFFIX
from unhang.sources.run_folder import evidence, is_run_folder

_URL = re.compile(r"[a-z][a-z0-9+.-]+://")
_GLOB = re.compile(r"[*?\[]")
_UNVISITED = frozenset(
    {".git", "__pycache__", ".ipynb_checkpoints", "node_modules", "site-packages"}
)
_MOST_STDIN = 16 << 30
NO_LOGS = "not logs (data, images, program text)"


def discover(paths: Iterable[str]) -> Iterator[Artifact | Problem]:
    """Yield every artifact below `paths`, and a problem for each that cannot be used.

    Files that are no logs are passed over and counted: checkpoints, images, program text (in
    folders), pipes. A file that two paths or links lead to is read once.

    Args:
        paths: files, folders, patterns such as `logs/*.txt`, archives, URLs; `-` is standard
            input.

    Raises:
        UsageError: a path that the user named does not exist, or nothing can be read at all.
    """
    search = _Search()
    names = list(paths)
    found = 0
    for name in names:
        for item in search.named(name):
            found += isinstance(item, Artifact)
            yield item
    yield from search.passed_over()
    if not found:
        reason = search.first_reason or "no file there is a log"
        raise UsageError(
            f"nothing to read in {', '.join(names) or 'no path'}: {reason}; name a log file, a "
            "folder of logs, an archive, or - for standard input"
        )


def is_url(name: str) -> bool:
    """Whether it names what lies in a store or on a server."""
    return _URL.match(name) is not None


@dataclass(frozen=True, slots=True)
class OpenFile:
    """Opens a local file; can be sent to another process."""

    path: str

    def __call__(self) -> IO[bytes]:
        """A binary stream at its start."""
        return cast("IO[bytes]", open(self.path, "rb", buffering=0))  # noqa: PTH123


@dataclass(slots=True)
class _Search:
    """Remembers what has been seen and what was passed over."""

    budget: Budget = field(default_factory=Budget)
    seen: set[tuple[int, int]] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    first_reason: str | None = None

    def named(self, name: str) -> Iterator[Artifact | Problem]:
        """What is at a path that the user named."""
        if name == "-":
            yield from self._note(_standard_input(self.budget))
        elif is_url(name):
            from unhang.sources.remote import remote

            yield from self._note(remote(name, self.budget))
        elif Path(name).exists():
            yield from self._at(name)
        elif _GLOB.search(name):
            matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (a pattern may be absolute)
            if not matches:
                raise UsageError(f"{name}: no file matches this pattern")
            for match in matches:
                yield from self._at(match)
        else:
            raise UsageError(f"{name}: no such file or folder")

    def _at(self, name: str) -> Iterator[Artifact | Problem]:
        if is_run_folder(name):
            for part in evidence(name):
                yield from self._at(part)
        elif Path(name).is_dir():
            yield from self._folder(name)
        else:
            yield from self._file(name, named=True)

    def _folder(self, root: str) -> Iterator[Artifact | Problem]:
        """All files below; links are followed, but nothing is visited twice."""
        pending = [root]
        while pending:
            folder = pending.pop()
            try:
                if not self._is_new(Path(folder).stat()):
                    continue
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError as error:
                self._pass_over(f"could not be listed ({_said(error)})", folder)
                continue
            notebooks = [entry.path for entry in entries if entry.name.endswith(SUFFIX)]
            below: list[str] = []
            for entry in entries:
                if _is_folder(entry):
                    if entry.name not in _UNVISITED:
                        below.append(entry.path)
                else:
                    yield from self._file(entry.path, named=[entry.path] == notebooks)
            pending.extend(reversed(below))

    def _file(self, name: str, *, named: bool) -> Iterator[Artifact | Problem]:
        try:
            status = Path(name).stat()
        except OSError as error:
            self._pass_over(f"could not be opened ({_said(error)})", name)
            return
        if not stat.S_ISREG(status.st_mode):
            self._pass_over("pipes, sockets or devices, not files", name)
        elif not self._is_new(status):
            return
        elif not named and (is_data(name) or (is_source(name) and not _is_debug_page(name))):
            self._pass_over(NO_LOGS, name)
        elif not os.access(name, os.R_OK):
            self._pass_over("could not be opened (permission denied)", name)
        elif status.st_size == 0 and dump_form(b"", name) is None:
            self._pass_over("empty", name)
        else:
            found = expand(name, OpenFile(name), self.budget, origin=origin_of(name), again=True)
            yield from self._note(_placed(found, name, status.st_size))

    def _is_new(self, status: os.stat_result) -> bool:
        key = (status.st_dev, status.st_ino)
        if key in self.seen:
            return False
        self.seen.add(key)
        return True

    def _note(self, items: Iterable[Artifact | Problem]) -> Iterator[Artifact | Problem]:
        for item in items:
            if isinstance(item, Problem) and self.first_reason is None:
                self.first_reason = f"{item.artifact}: {item.message}"
            yield item

    def _pass_over(self, why: str, name: str) -> None:
        self.counts[why] += 1
        self.first.setdefault(why, name)
        if self.first_reason is None:
            self.first_reason = f"{name}: {why}"

    def passed_over(self) -> Iterator[Problem]:
        """One problem for each reason, not one for each of 50,000 files."""
        if self.budget.data_files:
            self.counts[NO_LOGS] += self.budget.data_files
        for why, count in self.counts.items():
            first = self.first.get(why, "")
            if count == 1:
                yield Problem(artifact=first, component="reader", message=f"passed over: {why}")
                continue
            such = f", such as {first}" if first else ""
            message = f"{count:,} files passed over: {why}{such}"
            yield Problem(artifact="", component="reader", message=message)


def _placed(
    found: Iterable[Artifact | Problem], name: str, size: int
) -> Iterator[Artifact | Problem]:
    """Say of what is the file itself, not a member of it, where it is."""
    for item in found:
        if isinstance(item, Artifact) and item.name == name:
            yield replace(item, path=name, size_bytes=size, again=True)
        else:
            yield item


def _is_debug_page(name: str) -> bool:
    """Whether an HTML file holds what ranks answered; all others are documents."""
    if Path(name).suffix.lower() not in {".html", ".htm"}:
        return False
    try:
        with open(name, "rb") as stream:  # noqa: PTH123 (thousands of files)
            return is_debug_page(stream.read(SNIFF))
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle
        return False


def _said(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _standard_input(budget: Budget) -> Iterator[Artifact | Problem]:
    """Standard input is copied, for it can be read only once."""
    with tempfile.NamedTemporaryFile(prefix="unhang-") as spool:
        cut = False
        for piece in iter(lambda: sys.stdin.buffer.read(1 << 20), b""):
            cut = spool.tell() >= _MOST_STDIN
            if cut:
                break
            spool.write(piece)
        spool.flush()
        if spool.tell() == 0:
            raise UsageError("standard input is empty: pipe the text of a log into it")
        yield from expand("<stdin>", OpenFile(spool.name), budget, origin=NOBODY, again=True)
        if cut:
            yield Problem(
                artifact="<stdin>",
                component="reader",
                message=f"only the first {_MOST_STDIN >> 30} GiB were read; name the file instead",
            )
