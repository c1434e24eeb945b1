"""One readable thing: a file, a member of an archive, a remote object or standard input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from unhang.model.provenance import NOBODY, Origin
from unhang.sources.dump_kind import DumpForm

Opener = Callable[[], IO[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """Something that can be opened for reading, once or again.

    Attributes:
        name: the path as the user knows it; `outer.tar.gz!inner.log` for a member.
        open: gives a binary stream at its start, already decompressed and in UTF-8; it raises
            `ArtifactError` when it cannot.
        size_bytes: bytes that will be read from disk, where known, else None.
        origin: what the path tells of who wrote it (`rank3.log`, `host-2/`, `attempt_1/`).
        dump: the form of the Flight Recorder dump that it is, or None.
        path: the local file when it is one.
        again: `open` can be called again at little cost, and sent to another process.
    """

    name: str
    open: Opener
    size_bytes: int | None = None
    origin: Origin = NOBODY
    path: str | None = None
    again: bool = False
    dump: DumpForm | None = None
