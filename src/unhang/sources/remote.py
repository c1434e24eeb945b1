"""Logs that lie elsewhere: `s3://…`, `gs://…`, `hf://…`, `https://…`, through fsspec."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import IO, Any, TypeVar, cast

from unhang.errors import UsageError
from unhang.model.provenance import Problem
from unhang.sources.archives import Budget, expand
from unhang.sources.artifact import Artifact
from unhang.sources.hints import origin_of
from unhang.sources.kinds import is_data, is_source

R = TypeVar("R")

_WAITS_S = (0.5, 2.0)
"""Before each further try of what a network or a store interrupted."""
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, ImportError)
"""What another try does not change."""
_PATTERN = "*?["
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file in a store.

    Attributes:
        url: names it.
        open: gives a stream at its start that goes on where it was interrupted.
        size_bytes: 0 where the store does not tell.
        mark: all that the store tells; another where the file has changed.
    """

    url: str
    open: Callable[[], IO[bytes]]
    size_bytes: int
    mark: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The files at a URL, and the folder that they are in."""

    root: str
    files: tuple[RemoteFile, ...]


def remote(url: str, budget: Budget) -> Iterator[Artifact | Problem]:
    """Yield the artifacts at a URL: a file, a folder or a pattern.

    A file is read where it lies, as often as is needed and by several processes; a member of an
    archive as it comes by.

    Raises:
        UsageError: what is needed to read it is not installed, or nothing is there.
    """
    for file in listed(url).files:
        if is_data(file.url) or is_source(file.url):
            budget.data_files += 1
            continue
        for item in expand(file.url, file.open, budget, origin=origin_of(file.url), again=True):
            if isinstance(item, Artifact) and item.name == file.url:
                yield replace(item, size_bytes=file.size_bytes, again=True)
            else:
                yield item


def listed(url: str) -> Listing:
    """List what is at a URL.

    Raises:
        UsageError: as `remote` does.
    """
    scheme = url.partition("://")[0]
    try:
        import fsspec
    except ImportError:
        raise UsageError(
            f"{url}: reading {scheme}:// needs fsspec; install it with pip install 'unhang[remote]'"
        ) from None
    try:
        system, root = fsspec.core.url_to_fs(url)
        entries = _persistently(lambda: _entries(system, root))
    except ImportError as error:
        raise UsageError(f"{url}: {error} (with pip, beside unhang)") from None
    except Exception as error:  # whatever a storage back end raises is the user's to read
        raise UsageError(f"{url}: cannot be listed ({type(error).__name__}: {error})") from error
    if not entries:
        raise UsageError(f"{url}: no such file or folder")
    typed, chained, outer = url.partition("::")
    parts = root.rstrip("/").split("/")
    plain = next((i for i, part in enumerate(parts) if set(part) & set(_PATTERN)), len(parts))
    base = "/".join(parts[:plain])
    spelt = typed.rstrip("/").rsplit("/", len(parts) - plain)[0]
    if "://" not in spelt:  # all of a store
        spelt = str(system.unstrip_protocol(base))

    def named(path: str) -> str:
        """As the user spells the folder."""
        return f"{spelt}{path.removeprefix(base)}{chained}{outer}"

    files = (
        RemoteFile(
            named(path),
            _Opener(system, path),
            int(info["size"] or 0),
            repr(sorted((name, str(told)) for name, told in info.items())),
        )
        for path, info in sorted(entries.items())
    )
    return Listing(named(base), tuple(files))


def _entries(system: Any, root: str) -> dict[str, Any]:  # noqa: ANN401 (fsspec has no types)
    """What the store tells of each file at `root`, by path."""
    if any(mark in root for mark in _PATTERN):
        found = system.glob(root, detail=True)
    elif system.isdir(root):
        found = system.find(root, detail=True)
    else:
        found = {root: system.info(root)} if system.exists(root) else {}
    return {path: info for path, info in found.items() if info["type"] == "file"}


def _persistently(act: Callable[[], R]) -> R:
    """Try what a network may interrupt again after a while, a few times."""
    for wait_s in _WAITS_S:
        try:
            return act()
        except _FINAL:  # noqa: PERF203 (a few times)
            raise
        except Exception:  # each back end raises what its libraries raise
            time.sleep(wait_s)
    return act()


@dataclass(frozen=True, slots=True)
class _Opener:
    """Opens a file of a store; can be sent to another process."""

    system: Any
    path: str

    def __call__(self) -> IO[bytes]:
        return cast("IO[bytes]", _Resuming(self.system, self.path))


class _Resuming(io.RawIOBase):
    """A stream that is opened anew, where it was, when reading fails."""

    def __init__(self, system: Any, path: str) -> None:  # noqa: ANN401
        self._system, self._path = system, path
        self._at = 0
        self._stream: Any = None
        self._tried(self._opened)

    def _opened(self) -> Any:  # noqa: ANN401
        if self._stream is None:
            self._stream = self._system.open(self._path, "rb")
            self._go_to(self._at)
        return self._stream

    def _go_to(self, offset: int) -> None:
        if offset and self._stream.seekable():
            self._stream.seek(offset)
            return
        while offset > 0:  # a server that only gives all
            offset -= len(self._stream.read(min(offset, _PIECE))) or offset

    def _tried(self, act: Callable[[], R]) -> R:
        def once() -> R:
            try:
                return act()
            except Exception:
                self._leave()
                raise

        try:
            return _persistently(once)
        except OSError:
            raise
        except Exception as error:  # who reads a file is ready for what files raise
            raise OSError(f"{type(error).__name__}: {error}"[:200]) from error

    def _leave(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._tried(lambda: self._opened().seekable()))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = int(self._tried(lambda: self._opened().seek(offset, whence)))
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, space: object) -> int:
        view = memoryview(cast("bytearray", space))
        data = self._tried(lambda: self._opened().read(len(view)))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._leave()
        super().close()
