"""What a fix makes of a file of the user's."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.diagnosis import Fix


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFix:
    """A fix that was not written, and why.

    Attributes:
        number: its place in the verdict, from 1.
        reason: what stands against it, and what to do by hand.
    """

    number: int
    fix: Fix
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """A file before and after a verdict's fixes.

    Attributes:
        path: the file as the user named it.
        before, after: its text, with its own line ends; equal where nothing is left to do.
        written: the fixes in `after`, with their places in the verdict, from 1.
        passed: better fixes that this file cannot take.
        backup: the copy of the file as it was; None where nothing was written.
    """

    path: str
    before: str
    after: str
    written: tuple[tuple[int, Fix], ...]
    passed: tuple[SkippedFix, ...] = ()
    backup: str | None = None

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after
