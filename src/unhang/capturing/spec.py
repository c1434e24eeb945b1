"""What a source of evidence is: a name, limits, and a function from a context to pieces.

One file of `specs/` holds one source. It may use only the context to touch the system: everything
that the context does has an end.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from unhang.capturing.source_context import SourceContext


class PieceFormat(enum.Enum):
    """What the bytes of a piece are, so that secrets are found in them."""

    TEXT = "text"
    PICKLE = "pickle"
    ENVIRONMENT = "environment"
    """`NAME=value`, each ended by a NUL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A file for the bundle.

    Attributes:
        name: below the folder of its subject.
        cut: its source held more.
        host: who wrote it, where that is told; else this node, or for a run nobody in particular.
    """

    name: str
    data: bytes
    form: PieceFormat = PieceFormat.TEXT
    cut: bool = False
    host: str | None = None


class About(enum.Enum):
    """Whom a source is asked about: each once."""

    HOST = "host"
    RANK = "rank"
    """Each rank; see `Scene.ranks`."""
    PROCESS = "process"
    """Each rank and each launcher."""
    RUN = "run"
    """The run folder, where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A source of evidence.

    Attributes:
        name: as the manifest has it.
        about: whom it is asked about.
        limit_s: seconds for one subject.
        limit_bytes: of each piece.
        gather: gives pieces as they come; may end by `Stop`.
        order: those with the lowest go first.
        lasting: it tells the same once the job has ended.
    """

    name: str
    about: About
    gather: Callable[[SourceContext], Iterator[Piece]]
    limit_s: float = 5.0
    limit_bytes: int = 1 << 20
    order: int = 5
    lasting: bool = False
