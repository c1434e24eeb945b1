"""The standings of a run over time, in one SQLite file (`history.sqlite`), and their reader.

Schema `unhang.history/1`:

    meta(key TEXT PRIMARY KEY, value TEXT)           -- 'schema': 'unhang.history/1'
    samples(at REAL PRIMARY KEY, standing BLOB)      -- epoch seconds; JSON of `JobSnapshot`, zlib

The file stays below `MOST_BYTES`: when it is full, every second sample of the older half goes, so
that a long run keeps its whole course, coarser towards its beginning.

Nothing here waits. On a local disk the journal is a write-ahead log, so that readers and the writer
do not see each other; it needs shared memory, so that on a network disk it is a plain file, and a
reader that holds that one up costs samples, not time. At the end one plain file is left.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from unhang.errors import ArtifactError
from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.live.run_folder.local_scratch import on_network
from unhang.model.codec import decode, encode
from unhang.model.waits import Snapshot

SCHEMA = "unhang.history/1"

MOST_BYTES = 64 << 20
"""Of all standings together, as they are stored."""

_PREPARE = """
PRAGMA synchronous=OFF;
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS samples(at REAL PRIMARY KEY, standing BLOB);
"""

_BATCH = 5
"""Samples that are written together."""

_MOST_UNPACKED = 64 << 20
"""Bytes of one standing; a forged file must not fill the memory."""


class History:
    """The writer's side; one for each run.

    Args:
        path: the file; it is made, or continued.
        most_bytes: the bound.

    Raises:
        OSError: the file cannot be made or is no such history.
    """

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._waiting: list[tuple[float, bytes]] = []
        try:
            self._file = sqlite3.connect(path, timeout=0.05, isolation_level=None)
        except sqlite3.Error as error:
            raise OSError(f"cannot write {path}: {error}") from error
        try:
            self._begin_journal("TRUNCATE" if on_network(path.parent) else "WAL")
            self._file.executescript(_PREPARE)
            self._file.execute("INSERT OR IGNORE INTO meta VALUES ('schema', ?)", (SCHEMA,))
            self._bytes = self._size()
        except sqlite3.Error as error:
            self._file.close()
            raise OSError(f"cannot write {path}: {error}") from error

    def add(self, standing: JobSnapshot, text: str | None = None) -> None:
        """Keep one standing.

        Args:
            standing: what is kept, under its own time.
            text: its JSON, where the caller has it already.

        Raises:
            OSError: the samples that were waiting are lost; later ones may be kept again.
        """
        data = json.dumps(encode(standing)) if text is None else text
        self._waiting.append((standing.at_s, zlib.compress(data.encode(), 1)))
        if len(self._waiting) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what waits.

        Raises:
            OSError: it is lost.
        """
        samples, self._waiting = self._waiting, []
        if not samples:
            return
        try:
            with self._file:
                self._file.execute("BEGIN IMMEDIATE")
                self._file.executemany("INSERT OR REPLACE INTO samples VALUES (?, ?)", samples)
                self._bytes += sum(len(data) for _, data in samples)
                if self._bytes > self._most_bytes:
                    self._thin()
        except sqlite3.Error as error:
            raise OSError(f"{len(samples)} samples of the history are lost: {error}") from error

    def close(self) -> None:
        """Write what waits, and let go of the file.

        Raises:
            OSError: the last samples are lost.
        """
        try:
            self.flush()
        finally:
            self._begin_journal("DELETE")
            self._file.close()

    def _begin_journal(self, mode: str) -> None:
        with contextlib.suppress(sqlite3.OperationalError):  # somebody reads: then as it was
            self._file.execute(f"PRAGMA journal_mode={mode}")

    def _thin(self) -> None:
        """Drop every second sample of the older half, by size."""
        half = self._most_bytes // 2
        older: list[float] = []
        for at, size in self._file.execute("SELECT at, length(standing) FROM samples ORDER BY at"):
            if half <= 0:
                break
            half -= size
            older.append(at)
        self._file.executemany("DELETE FROM samples WHERE at = ?", [(at,) for at in older[1::2]])
        self._bytes = self._size()

    def _size(self) -> int:
        query = "SELECT coalesce(sum(length(standing)), 0) FROM samples"
        (size,) = self._file.execute(query).fetchone()
        return int(size)


def read(
    path: Path, since_s: float | None = None, until_s: float | None = None
) -> Iterator[JobSnapshot]:
    """Yield the standings of a run, oldest first.

    Args:
        path: the file.
        since_s: epoch; None = from the beginning.
        until_s: epoch; None = to the end.

    Raises:
        ArtifactError: the file cannot be read, or is no such history.
    """
    low = float("-inf") if since_s is None else since_s
    high = float("inf") if until_s is None else until_s
    query = "SELECT standing FROM samples WHERE at BETWEEN ? AND ? ORDER BY at"
    with _reading(path) as file:
        rows = file.execute(query, (low, high)).fetchall()  # the file is free again at once
    yield from (_unpacked(path, data) for (data,) in rows)


def snapshots(path: Path) -> Iterator[Snapshot]:
    """Yield who waited in which call for whom over a run, oldest first.

    Raises:
        ArtifactError: the file cannot be read, or is no such history.
    """
    return (standing.snapshot for standing in read(path) if standing.snapshot is not None)


def spread(path: Path, most: int) -> Iterator[JobSnapshot]:
    """Yield at most `most` standings, spread evenly over the samples, oldest first.

    Raises:
        ArtifactError: the file cannot be read, or is no such history.
    """
    query = (
        "SELECT standing FROM (SELECT standing, at, row_number() OVER (ORDER BY at) AS number,"
        " count(*) OVER () AS size FROM samples)"
        " WHERE number = size OR number % max(1, size / ?) = 0 ORDER BY at LIMIT ?"
    )
    with _reading(path) as file:
        rows = file.execute(query, (max(1, most // 2), most)).fetchall()
    yield from (_unpacked(path, data) for (data,) in rows)


def span(path: Path) -> tuple[float, float] | None:
    """Epochs of the first and the last sample; None while there is none.

    Raises:
        ArtifactError: the file cannot be read, or is no such history.
    """
    with _reading(path) as file:
        first, last = file.execute("SELECT min(at), max(at) FROM samples").fetchone()
    return None if first is None else (first, last)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, open; whatever is wrong with it is said in one sentence."""
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=2)) as file:
            yield file
    except (sqlite3.Error, ValueError, zlib.error) as error:
        raise ArtifactError(
            f"cannot read {path}: {error}; expected the history of a run of `unhang run`"
        ) from error


def _unpacked(path: Path, data: object) -> JobSnapshot:
    try:
        return _unpack(data)
    except (ValueError, zlib.error) as error:
        raise ArtifactError(
            f"cannot read {path}: {error}; expected the history of a run of `unhang run`"
        ) from error


def _unpack(data: object) -> JobSnapshot:
    if not isinstance(data, bytes):
        raise ValueError("a sample is not bytes")  # noqa: TRY004
    text = zlib.decompressobj().decompress(data, _MOST_UNPACKED)
    return decode(JobSnapshot, json.loads(text))
