"""One readable thing: a file, a member of an archive, a remote object or standard input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from unhang.model.provenance import NOBODY, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """Something that can be opened for reading, once or again.

    Attributes:
        name: the path as the user knows it; `outer.tar.gz!inner.log` for a member.
        open: gives a binary stream at its start, already decompressed; it raises
            `ArtifactError` when it cannot.
        size_bytes: size where known (of the decompressed bytes), else None.
        origin: what the path tells of who wrote it (`rank3.log`, `host-2/`, `%t` files).
        path: the local file when it is a plain one, so that another process can open it.
    """

    name: str
    open: Callable[[], IO[bytes]]
    size_bytes: int | None = None
    origin: Origin = NOBODY
    path: str | None = None
