"""Writes a bundle: one archive, readable by its owner only, there whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import zstandard

from unhang.errors import UsageError

_LEVEL = 6


@dataclass(frozen=True, slots=True)
class BundleMember:
    """One file of the bundle."""

    path: str
    data: bytes


def write_bundle(path: Path, members: Sequence[BundleMember]) -> int:
    """Write the members, in order, and return the bytes of the bundle.

    Raises:
        UsageError: the disk is full, or the folder is not there or not ours.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            _write(file, members)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise UsageError(
            f"cannot write {path}: {(error.strerror or str(error)).lower()}; name a file in a"
            " folder of yours with room (--out FILE)"
        ) from error
    return size


def _write(file: io.BufferedWriter, members: Sequence[BundleMember]) -> None:
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    now = int(time.time())
    with (
        compressor.stream_writer(file, closefd=False) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for member in members:
            told = tarfile.TarInfo(member.path)
            told.size, told.mtime, told.mode = len(member.data), now, 0o600
            tar.addfile(told, io.BytesIO(member.data))
