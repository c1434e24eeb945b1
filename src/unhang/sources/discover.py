"""From what a user names (files, folders, globs, archives, `-`) to artifacts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from unhang.errors import UsageError
from unhang.model.provenance import Problem
from unhang.sources.artifact import Artifact


def discover(paths: Iterable[str]) -> Iterator[Artifact | Problem]:
    """Yield every artifact below `paths`, and a problem for each that cannot be used.

    Raises:
        UsageError: a path that the user named does not exist.
    """
    for name in paths:
        path = Path(name)
        if path.is_dir():
            yield from (_plain(p) for p in sorted(path.rglob("*")) if p.is_file())
        elif path.exists():
            yield _plain(path)
        else:
            raise UsageError(f"{name}: no such file or folder")


def _plain(path: Path) -> Artifact:
    return Artifact(
        name=str(path),
        open=lambda: path.open("rb"),
        size_bytes=path.stat().st_size,
        path=str(path),
    )
