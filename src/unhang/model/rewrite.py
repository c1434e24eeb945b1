"""What fixes make of the files of a job."""

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
class ChangedFile:
    """A file before and after.

    Attributes:
        path: as the user named it.
        before, after: its text, with its own line ends; equal where nothing is left to do.
        backup: the copy of the file as it was; None where nothing was written.
    """

    path: str
    before: str
    after: str
    backup: str | None = None

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """The files of a job before and after a verdict's fixes.

    Attributes:
        files: as the user named them, in that order.
        written: the fixes in them, with their places in the verdict, from 1.
        passed: better fixes that these files cannot take.
        remarks: what whoever reads the change must know of it.
    """

    files: tuple[ChangedFile, ...]
    written: tuple[tuple[int, Fix], ...]
    passed: tuple[SkippedFix, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return any(file.changed for file in self.files)

    @property
    def main(self) -> ChangedFile:
        """The first file that changes, else the first."""
        return next((file for file in self.files if file.changed), self.files[0])

    @property
    def path(self) -> str:
        """The path of the main file."""
        return self.main.path

    @property
    def before(self) -> str:
        """The main file as it was."""
        return self.main.before

    @property
    def after(self) -> str:
        """The main file with the fixes in it."""
        return self.main.after

    @property
    def backup(self) -> str | None:
        """The copy of the main file; None where nothing was written."""
        return self.main.backup
