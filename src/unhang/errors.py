"""The errors a caller of unhang can meet.

The tree::

    UnhangError
    ├── UsageError        the request cannot be carried out as stated (exit code 2)
    └── ArtifactError     one artifact cannot be read; the others still are
        └── UnsafeArtifact  one artifact was refused because reading it could do harm

Every message is one sentence for a person: what was found, what was expected, what to do.
"""

from __future__ import annotations


class UnhangError(Exception):
    """Base of every error that unhang raises on purpose."""


class UsageError(UnhangError):
    """The request cannot be carried out as stated."""


class ArtifactError(UnhangError):
    """One artifact cannot be read."""


class UnsafeArtifact(ArtifactError):
    """One artifact was refused: reading it could harm the reader.

    Attributes:
        carries: the name of the code that it would have run, or "" where it carries none.
    """

    def __init__(self, message: str, *, carries: str = "") -> None:
        super().__init__(message)
        self.carries = carries
