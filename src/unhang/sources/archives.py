"""From a file that holds others to its members: nothing is written to disk by its name.

Archives may be nested. Members are read where they stand in the stream; one that has been passed
is found again by starting over.
"""

from __future__ import annotations

import io
import lzma
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import IO, cast

from unhang.errors import ArtifactError, UnsafeArtifact
from unhang.model.provenance import Origin, Problem
from unhang.sources.artifact import Artifact, Opener
from unhang.sources.debug_page import answers
from unhang.sources.dump_kind import dump_form
from unhang.sources.hints import origin_of
from unhang.sources.kinds import COMPRESSED, SNIFF, FileKind, is_data, is_source, kind_of
from unhang.sources.notebook import outputs
from unhang.sources.streams import decompressed, recoded

DAMAGE = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError)
"""What libraries raise where an archive is damaged, and nothing else."""
_BROKEN = (*DAMAGE, OSError, ValueError, RuntimeError, NotImplementedError)
_PIECE = 1 << 20
"""Bytes that are read at once: a member may claim any size."""
_HOLDERS = {*COMPRESSED, FileKind.TAR, FileKind.ZIP, FileKind.PAGE}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """What an archive may hold before the rest of it is refused."""

    members: int = 100_000
    depth: int = 4
    total_bytes: int = 256 << 30
    spooled_bytes: int = 8 << 30


@dataclass(slots=True)
class Budget:
    """What is left of the limits, and what was passed over."""

    limits: ArchiveLimits = field(default_factory=ArchiveLimits)
    members: int = 0
    total_bytes: int = 0
    data_files: int = 0

    def member(self) -> None:
        """One more member."""
        self.members += 1
        if self.members > self.limits.members:
            raise UnsafeArtifact(
                f"it holds more than {self.limits.members:,} members; the first ones were read. "
                "Unpack it and name the files that matter"
            )

    def read(self, count: int) -> None:
        """So many bytes more."""
        self.total_bytes += count
        if self.total_bytes > self.limits.total_bytes:
            raise UnsafeArtifact(
                f"its members hold more than {self.limits.total_bytes >> 30} GiB together; the "
                "first ones were read. Unpack it and name the files that matter"
            )


def expand(
    name: str, open_: Opener, budget: Budget, *, origin: Origin, again: bool, depth: int = 0
) -> Iterator[Artifact | Problem]:
    """Yield what a file is, or the members that it holds; never raises.

    Args:
        name: what to call it.
        open_: gives a stream at its start.
        budget: counts, over all that is nested.
        origin: what its path tells.
        again: opening it again costs little.
        depth: how many archives and compressions it is in.
    """
    try:
        with _Primed(open_) as primed:
            kind = kind_of(primed.head, name)
            if kind in _HOLDERS and depth >= budget.limits.depth:
                raise UnsafeArtifact(
                    f"it is nested more than {depth} deep; unpack it and name the files that matter"
                )
            inner = open_ if again else primed
            if kind is FileKind.TAR:
                yield from _members(_tar(name, primed, budget), budget, depth)
            elif kind is FileKind.ZIP:
                yield from _members(_zip(name, open_, budget), budget, depth)
            elif kind is FileKind.PAGE:
                yield from _members(_page(name, inner, budget), budget, depth)
            elif kind is FileKind.NOTEBOOK:
                yield Artifact(name=name, open=partial(_printed, inner), origin=origin)
            elif kind in COMPRESSED:
                yield from expand(
                    name,
                    Layered(inner, kind),
                    budget,
                    origin=origin,
                    again=again,
                    depth=depth + 1,
                )
            elif (form := dump_form(primed.head, name)) is not None:
                yield Artifact(name=name, open=inner, origin=origin, dump=form)
            elif kind is FileKind.BINARY:
                budget.data_files += 1
            else:
                opener = Layered(inner, kind) if kind is FileKind.UTF16 else inner
                yield Artifact(name=name, open=opener, origin=origin)
    except (ArtifactError, *_BROKEN) as error:
        reason = str(error) if isinstance(error, ArtifactError) else _reason(error)
        yield Problem(artifact=name, component="reader", message=reason)


def _page(name: str, open_: Opener, budget: Budget) -> Iterator[tuple[str, Opener]]:
    """What each rank answered to torch's debug server."""
    with open_() as stream:
        for member, data in answers(stream):
            budget.member()
            budget.read(len(data))
            yield f"{name}!{member}", partial(_stored, data)


def _printed(open_: Opener) -> IO[bytes]:
    """What the cells of a notebook printed."""
    with open_() as stream:
        return _stored(outputs(stream))


def _stored(data: bytes) -> IO[bytes]:
    """A member that is at hand."""
    return cast("IO[bytes]", io.BytesIO(data))


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return (
            f"it cannot be read any further ({error.strerror.lower()}); what came before was used"
        )
    return (
        f"it looks like an archive but is damaged ({str(error)[:200]}); what came before was used. "
        "Fetch it again, or unpack what can be unpacked and name that"
    )


def _members(
    members: Iterator[tuple[str, Opener]], budget: Budget, depth: int
) -> Iterator[Artifact | Problem]:
    for name, opener in members:
        yield from expand(
            name, opener, budget, origin=origin_of(name), again=False, depth=depth + 1
        )


@dataclass(frozen=True, slots=True)
class Layered:
    """Opens a stream and puts a layer over it."""

    inner: Opener
    kind: FileKind

    def __call__(self) -> IO[bytes]:
        """The stream, decompressed or recoded."""
        stream = self.inner()
        return recoded(stream) if self.kind is FileKind.UTF16 else decompressed(stream, self.kind)


class _Primed:
    """A stream whose beginning has been looked at; the first to open it gets it whole."""

    def __init__(self, open_: Opener) -> None:
        self._open = open_
        self._stream: IO[bytes] | None = open_()
        try:
            self.head = _head(self._stream)
        except BaseException:
            self._stream.close()
            raise

    def __call__(self) -> IO[bytes]:
        stream, self._stream = self._stream, None
        if stream is None:
            return self._open()
        return cast("IO[bytes]", _Resumed(self.head, stream))

    def __enter__(self) -> _Primed:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()


def _head(stream: IO[bytes]) -> bytes:
    pieces: list[bytes] = []
    missing = SNIFF
    while missing > 0:
        piece = stream.read(missing)
        if not piece:
            break
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


class _Resumed(io.RawIOBase):
    """What was read already, then the rest."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, space: object) -> int:
        view = memoryview(cast("bytearray", space))
        piece, self._head = self._head[: len(view)], self._head[len(view) :]
        if not piece:
            piece = self._rest.read(min(len(view), _PIECE))
        view[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._rest.close()
        super().close()


def _tar(name: str, open_: Opener, budget: Budget) -> Iterator[tuple[str, Opener]]:
    with open_() as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for index, info in enumerate(tar):
            if info.isfile() and _wanted(name, info.name, info.size, budget):
                yield f"{name}!{info.name}", _TarMember(open_, tar, info, index)


class _TarMember:
    """Opens a member: where the stream stands now, or by starting over."""

    def __init__(
        self, open_: Opener, tar: tarfile.TarFile, info: tarfile.TarInfo, index: int
    ) -> None:
        self._open = open_
        self._now: tuple[tarfile.TarFile, tarfile.TarInfo] | None = (tar, info)
        self._index = index

    def __call__(self) -> IO[bytes]:
        now, self._now = self._now, None
        if now is not None:
            stream = now[0].extractfile(now[1])
            assert stream is not None  # only files are members
            return stream
        spool = tempfile.SpooledTemporaryFile(max_size=16 << 20)  # noqa: SIM115 (its reader closes it)
        with self._open() as outer, tarfile.open(fileobj=outer, mode="r|") as tar:
            for index, info in enumerate(tar):
                if index == self._index:
                    source = tar.extractfile(info)
                    assert source is not None
                    shutil.copyfileobj(source, spool)
                    break
        spool.seek(0)
        return cast("IO[bytes]", spool)


def _zip(name: str, open_: Opener, budget: Budget) -> Iterator[tuple[str, Opener]]:
    """A zip file's table stands at its end: one that cannot be rewound is copied first."""
    with open_() as stream, _seekable(stream, budget) as whole, zipfile.ZipFile(whole) as archive:
        for info in archive.infolist():
            if not info.is_dir() and _wanted(name, info.filename, info.file_size, budget):
                yield f"{name}!{info.filename}", partial(archive.open, info)


@contextmanager
def _seekable(stream: IO[bytes], budget: Budget) -> Iterator[IO[bytes]]:
    if stream.seekable():
        yield stream
        return
    with tempfile.SpooledTemporaryFile(max_size=16 << 20) as spool:
        for piece in iter(partial(stream.read, 1 << 20), b""):
            if spool.tell() > budget.limits.spooled_bytes:
                raise UnsafeArtifact("the zip file inside is too large; unpack it first")
            spool.write(piece)
        spool.seek(0)
        yield cast("IO[bytes]", spool)


def _wanted(archive: str, member: str, size: int, budget: Budget) -> bool:
    """Whether to look into a member; counts it."""
    budget.member()
    budget.read(size)
    path = PurePosixPath(member.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise UnsafeArtifact(
            f"it names a member outside itself ({member[:80]!r}), which no tool does by accident; "
            f"unpack {archive} yourself if you trust it"
        )
    if is_data(member) or is_source(member):
        budget.data_files += 1
        return False
    return True
