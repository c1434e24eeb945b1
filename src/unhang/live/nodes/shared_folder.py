"""Nodes that talk through a folder which all of them can write.

    nodes/<host>.json          the newest report of a node
    instructions.json          what the judging node says
    evidence/<number>/<host>/  files for the dumps of that number; `complete` is written last

What an earlier run left here is told by its standing still: only a file that changes under our eyes
is believed. Others may write here, too: nothing is read through a link, a pipe or a device, or from
a file of another owner than those that this node writes here; nothing is written into a folder of
another; no file costs more than itself, and a node speaks for itself only.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from unhang import lazy_re as re
from unhang.live.messages.instructions import Instructions
from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import NodeReport
from unhang.live.messages.wire import node_from_json, node_to_json
from unhang.live.nodes.evidence import MOST_FILE_BYTES
from unhang.live.nodes.inbox import Inbox
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.record import replace_bytes, write_json

_PAUSE_S = 0.5
_COMPLETE = "complete"
_MOST_REPORT = 32 << 20
_MOST_FILES = 10_000
_LONGEST_NUMBER = 10
_LABEL = re.compile(r"[\w-][\w.-]{0,99}")
_NODES, _INSTRUCTIONS, _EVIDENCE = "nodes", "instructions.json", "evidence"


class FolderHub(Inbox):
    """The judging node's side: a thread looks again and again.

    Args:
        shared: the folder.
        folder: where evidence goes.
        lose: told what could not be read or written.
        own: label of this node.
    """

    def __init__(
        self,
        shared: Path,
        folder: RunFolder,
        lose: Callable[[Loss], None],
        own: str | None = None,
    ) -> None:
        super().__init__(folder, own)
        self._shared = shared
        self._lose = lose
        self._owner: int | None = None
        self._seen: dict[str, bytes] = {}
        self._taken: set[Path] = set(_delivered(shared))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="shared-folder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._over.set()
        self._thread.join(2 * _PAUSE_S)

    def _work(self) -> None:
        while not self._over.wait(_PAUSE_S):
            self._try()

    def _try(self) -> None:
        try:
            self._look()
        except OSError as error:
            self._lose(Loss.of("shared_silent", why=error.strerror or str(error)))

    def _look(self) -> None:
        self._shared.mkdir(parents=True, exist_ok=True)
        told = self._shared / _INSTRUCTIONS
        write_json(told, self.instructions.to_json())
        self._owner = told.lstat().st_uid
        for path in _entries(self._shared / _NODES):
            if path.suffix == ".json" and not path.name.startswith("."):
                self._guarded(path.stem, lambda path=path: self._read(path))  # type: ignore[misc]
        for place in set(_delivered(self._shared)) - self._taken:
            self._taken.add(place)
            self._guarded(place.name, lambda place=place: self._take(place))  # type: ignore[misc]

    def _guarded(self, node: str, task: Callable[[], None]) -> None:
        """Do something with what a node has written; it costs nobody but that node."""
        try:
            task()
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self._lose(Loss.of("file_refused", node=node[:100], why=why))

    def _read(self, path: Path) -> None:
        data = read_plain(path, _MOST_REPORT, self._owner)
        now, before = hashlib.blake2b(data).digest(), self._seen.get(path.name)
        self._seen[path.name] = now
        if before is None or before == now:
            return
        item = json.loads(data)
        report = node_from_json(item) if isinstance(item, dict) else None
        if report is None or report.host != path.stem:
            raise ValueError("this is not a report of that node")
        self.put(report)

    def _take(self, place: Path) -> None:
        for path in _files(place):
            name = str(path.relative_to(place))
            self._guarded(place.name, lambda path=path, name=name: self._keep(path, name, place))  # type: ignore[misc]
        self.mark(int(place.parent.name), place.name, place.name)

    def _keep(self, path: Path, name: str, place: Path) -> None:
        self.keep(name, read_plain(path, MOST_FILE_BYTES, self._owner), place.name)


def read_plain(path: Path, most_bytes: int, owner: int | None = None) -> bytes:
    """The content of a regular file, and of nothing else that has its name.

    Args:
        path: of the file.
        most_bytes: that it may have.
        owner: whose it must be. A server may name all of us otherwise than we do, so that whose
            our own files are there says it; None = anybody's.

    Raises:
        ValueError: it is a link, a pipe, a device, another user's, or too large.
        OSError: it cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            raise ValueError("a link is not followed") from error
        raise
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("this is not a regular file")
        if owner is not None and status.st_uid != owner:
            raise ValueError("it belongs to another user")
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ValueError(f"it has more than {most_bytes} bytes")
    return data


def _made(shared: Path, *names: str) -> Path:
    """A folder below the shared one, made where it is not there; none behind a link.

    Raises:
        OSError: it cannot be made, or somebody has laid a link there.
    """
    shared.mkdir(parents=True, exist_ok=True)
    place = shared
    for name in names:
        place /= name
        place.mkdir(exist_ok=True)
        if place.is_symlink():
            raise NotADirectoryError(errno.ENOTDIR, f"{name} is a link, which is not followed")
    return place


def _entries(folder: Path) -> Iterator[Path]:
    """What lies in a folder that is one, not a link to one."""
    if folder.is_symlink() or not folder.is_dir():
        return
    with os.scandir(folder) as found:
        for number, entry in enumerate(found):
            if number >= _MOST_FILES:
                return
            yield folder / entry.name


def _delivered(shared: Path) -> Iterator[Path]:
    """Folders of evidence that are complete: `evidence/<number>/<host>`."""
    if (shared / _EVIDENCE).is_symlink():
        return
    for numbered in _entries(shared / _EVIDENCE):
        if not (numbered.name.isdecimal() and len(numbered.name) < _LONGEST_NUMBER):
            continue
        for place in _entries(numbered):
            if _LABEL.fullmatch(place.name) and not place.is_symlink() and _is_complete(place):
                yield place


def _is_complete(place: Path) -> bool:
    try:
        return os.path.lexists(place / _COMPLETE)
    except OSError:
        return False


def _files(place: Path) -> Iterator[Path]:
    """Everything below a folder but its mark; folders behind links are not entered."""
    count = 0
    for folder, _, names in os.walk(place, followlinks=False):
        for name in names:
            count += 1
            if count > _MOST_FILES:
                return
            if name != _COMPLETE:
                yield Path(folder) / name


class FolderCarrier:
    """The other nodes' side.

    Args:
        shared: the folder.
        host: label of this node.
    """

    def __init__(self, shared: Path, host: str) -> None:
        self._shared = shared
        self._host = host
        self._number = 0
        self._before: Instructions | None = None

    def exchange(self, report: NodeReport) -> Instructions | None:
        """Write the report, read the instructions once they were seen to change."""
        own = _made(self._shared, _NODES) / f"{self._host}.json"
        write_json(own, node_to_json(report))
        try:
            owner = own.lstat().st_uid
            data = json.loads(read_plain(self._shared / _INSTRUCTIONS, _MOST_REPORT, owner))
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        told = Instructions.from_json(data)
        before, self._before = self._before, told
        alive = before is not None and told is not None and told.beat != before.beat
        return told if alive else None

    def put(self, name: str, data: bytes) -> None:
        """Lay a file of evidence ready; `mark` makes it known."""
        within, _, last = name.rpartition("/")
        names = (_EVIDENCE, "coming", self._host, *filter(None, within.split("/")))
        replace_bytes(_made(self._shared, *names) / last, data)

    def mark(self, number: int, host: str) -> None:
        """Show everything that was laid ready, at once."""
        coming = _made(self._shared, _EVIDENCE, "coming", host)
        place = _made(self._shared, _EVIDENCE, str(number))
        coming.replace(place / host)
        (place / host / _COMPLETE).touch()

    def close(self) -> None:
        """Nothing is held open."""
