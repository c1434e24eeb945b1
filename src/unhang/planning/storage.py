"""How fast one process writes to a folder, measured there."""

from __future__ import annotations

import os
import time
from pathlib import Path
from tempfile import NamedTemporaryFile
from zlib import crc32

from unhang.errors import UsageError

_CHUNK = 4 << 20
_LEAST, _MOST = 64 << 20, 1 << 30
_ENOUGH_S = 2.0


def measure_write(
    folder: Path, *, least: int = _LEAST, enough_s: float = _ENOUGH_S, synced: int | None = None
) -> int:
    """Bytes per second that one process writes and brings to the medium (fsync).

    Each chunk is summed up as `torch.save` does for its archive, and comes from more memory than
    a processor's cache holds, as a model does: on fast storage both cost more than the writing.
    Writes a file of 64 MiB to 1 GiB, for two seconds if that is enough, and removes it.

    Args:
        folder: where to write.
        least: bytes that are written even where it takes longer.
        enough_s: seconds after which no more is written.
        synced: bytes after which each time the medium is waited for, so that slow storage does not
            take in more than it can write in time; None = at the end.

    Raises:
        UsageError: the folder cannot be written to; the message says why.
    """
    # Random, because storage that compresses must not look faster than it is.
    data = memoryview(os.urandom(_LEAST))
    written = checksum = 0
    try:
        with NamedTemporaryFile(dir=folder, prefix=".unhang-plan-") as file:
            begin = time.perf_counter()
            while written < _MOST:
                begun = written % _LEAST
                chunk = data[begun : begun + _CHUNK]
                checksum = crc32(chunk, checksum)
                file.write(chunk)
                written += _CHUNK
                if synced is not None and written % synced == 0:
                    file.flush()
                    os.fsync(file.fileno())
                if written >= least and time.perf_counter() - begin > enough_s:
                    break
            file.flush()
            os.fsync(file.fileno())
            return int(written / (time.perf_counter() - begin))
    except OSError as error:
        raise UsageError(
            f"{folder}: {error.strerror} after {written} bytes; name a folder that can be written"
        ) from error
