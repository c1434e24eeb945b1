"""Puts changed files in their places, each in one step, beside a copy of what it was."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from unhang.errors import UsageError
from unhang.fixing.config_file import ConfigFile

_MOST_BACKUPS = 1_000


def save(texts: Mapping[ConfigFile, str], *, keep: bool = True) -> dict[str, str]:
    """Write the new texts and return the path of each backup by the path of its file.

    Whoever reads a file meanwhile sees the old text or the new one, never a part. Where one cannot
    be written, those before it are put back.

    Args:
        texts: by file.
        keep: leave the backups; else they go once everything is written.

    Raises:
        UsageError: a file changed since it was read, has other names (hard links), or its folder
            cannot be written. The files are then as they were.
    """
    written: dict[str, str] = {}
    try:
        for target, text in texts.items():
            written[target.path] = _save(target, text)
    except UsageError:
        for target in texts:
            if target.path in written:
                Path(written[target.path]).replace(target.real)
        raise
    if not keep:
        for backup in written.values():
            Path(backup).unlink()
        return {}
    return written


def _save(target: ConfigFile, text: str) -> str:
    path = target.real
    try:
        status = path.lstat()
        _check(target, status)
        before = target.text.encode()
        if path.read_bytes() != before:
            raise UsageError(f"{target.path} changed while it was read; nothing was written")
        backup = _copy(path, before, status)
        _replace(path, text.encode(), status)
    except OSError as error:
        raise UsageError(
            f"cannot write {error.filename or target.path}: {error.strerror}; the file is as it"
            " was: apply the printed difference with `patch`"
        ) from error
    return str(backup)


def _check(target: ConfigFile, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{target.path} is no longer a regular file; nothing was written")
    if status.st_nlink > 1:
        raise UsageError(
            f"{target.path} has {status.st_nlink} names (hard links): a new file would leave the"
            " others behind; apply the printed difference with `patch`"
        )
    # A file without any right to write was meant to stay, even where the user is root.
    if not status.st_mode & 0o222 or not os.access(target.real, os.W_OK):
        raise UsageError(f"{target.path} is write-protected; nothing was written")


def _copy(path: Path, content: bytes, status: os.stat_result) -> Path:
    """Keep the old text under a name that nothing has yet: `x.yaml.bak`, then `x.yaml.bak.1`."""
    for number in range(_MOST_BACKUPS):
        backup = path.with_name(f"{path.name}.bak" + (f".{number}" if number else ""))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            handle = os.open(backup, flags, stat.S_IMODE(status.st_mode))
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as file:
            _write(file.fileno(), content)
        return backup
    raise UsageError(f"{path} has {_MOST_BACKUPS} backups already; move them away")


def _replace(path: Path, content: bytes, status: os.stat_result) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _write(file.fileno(), content)
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _write(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]
    os.fsync(handle)
