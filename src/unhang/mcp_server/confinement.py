"""Which paths a program that talks to us may name: those below folders that the user gave."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from unhang.errors import UsageError

MOST_FILES = 50_000
MOST_BYTES = 16 << 30


class Roots:
    """Folders that may be read, with everything below them.

    Args:
        folders: as the user named them.

    Raises:
        UsageError: one is no folder.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        missing = [folder for folder in folders if not Path(folder).is_dir()]
        if missing:
            raise UsageError(f"{missing[0]} is not a folder; name the folders that may be read")
        self.folders = tuple(Path(folder).resolve() for folder in folders)

    def admit(self, name: str) -> str:
        """Return the real path of what was named.

        A folder is admitted only when nothing in it leads out of the roots, and when it is not too
        large to be read at one go.

        Raises:
            UsageError: it lies elsewhere, does not exist, or leads elsewhere.
        """
        if "\0" in name or "://" in name:
            raise UsageError(
                f"{name[:80]!r} is not a local path; name a file below {self._shown()}"
            )
        path = self._real(Path(name))
        if path is None:
            first = self.folders[0]
            path = None if Path(name).is_absolute() else self._real(first / name)
        if path is None:
            raise UsageError(
                f"{name[:200]!r} does not exist, or lies outside of what may be read;"
                f" name a file or a folder below {self._shown()}"
            )
        if path.is_dir():
            self._check(path)
        return str(path)

    def _real(self, path: Path) -> Path | None:
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            return None
        return real if self._holds(real) else None

    def _holds(self, real: Path) -> bool:
        return any(real == folder or folder in real.parents for folder in self.folders)

    def _check(self, folder: Path) -> None:
        files = size = 0
        for parent, folders, names in os.walk(folder):
            for name in (*folders, *names):
                path = Path(parent, name)
                if path.is_symlink() and not self._holds(path.resolve()):
                    raise UsageError(
                        f"{path} points outside of what may be read; name the files beside it one"
                        " by one"
                    )
            files += len(names)
            size += sum(_size(Path(parent, name)) for name in names)
            if files > MOST_FILES or size > MOST_BYTES:
                raise UsageError(
                    f"{folder} holds more than {MOST_FILES:,} files or {MOST_BYTES >> 30} GiB;"
                    " name a part of it"
                )

    def _shown(self) -> str:
        return ", ".join(map(str, self.folders))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
