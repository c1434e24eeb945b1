"""Keeps the record of each job in `jobs.jsonl`, so that an unchanged job is never read again."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from unhang.errors import UsageError
from unhang.model.fleet import JobRecord
from unhang.surveying.find import JobFiles

_NAMES = frozenset(field.name for field in fields(JobRecord))
_OWNER_ONLY = 0o600
_LISTS = ("paths", "culprit_hosts", "hosts")


class Store:
    """Records on disk; each is there as soon as its job is judged, so that a stop loses none.

    What is made here is its owner's only; what is there already stays as open as it is.
    """

    def __init__(self, folder: Path) -> None:
        """Read what `folder` holds; a line that cannot be read costs its job another reading.

        Raises:
            UsageError: it cannot be made or written.
        """
        self._path = folder / "jobs.jsonl"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lines = self._path.read_text("utf-8").splitlines() if self._path.exists() else []
            self._file = os.fdopen(_private(self._path, os.O_APPEND), "a", encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be written: {error.strerror}; name another with --store"
            ) from error
        self._records = {r.fingerprint: r for line in lines if (r := _read(line)) is not None}

    def holds(self, job: JobFiles) -> bool:
        """Whether the job is known as it is now."""
        return job.fingerprint in self._records

    def failures(self) -> frozenset[tuple[str, str | None]]:
        """Name and cause of each job that is known to have failed."""
        return frozenset((r.name, r.cause) for r in self._records.values() if r.failed)

    def add(self, record: JobRecord) -> None:
        """Keep a record."""
        self._records[record.fingerprint] = record
        self._file.write(_line(record))
        self._file.flush()

    def records(self, jobs: Sequence[JobFiles]) -> Iterator[JobRecord]:
        """Those of `jobs`, in their order."""
        return (self._records[job.fingerprint] for job in jobs)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def leave_only(self, records: Sequence[JobRecord]) -> None:
        """Drop the others: jobs that have changed or are gone. Nothing can be added then."""
        self._file.close()
        fresh = self._path.with_name("jobs.jsonl.new")
        fresh.unlink(missing_ok=True)
        with os.fdopen(_private(fresh), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), stat.S_IMODE(self._path.stat().st_mode))
            file.writelines(map(_line, records))
        fresh.replace(self._path)


def _private(path: Path, more: int = 0) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | more
    return os.open(path, flags, _OWNER_ONLY)


def _line(record: JobRecord) -> str:
    return json.dumps(asdict(record), ensure_ascii=False) + "\n"


def _read(line: str) -> JobRecord | None:
    try:
        data: dict[str, Any] = json.loads(line)
        if set(data) != _NAMES:
            return None
        data.update({name: tuple(map(str, data[name])) for name in _LISTS})
        data["settings"] = {str(k): tuple(map(str, v)) for k, v in data["settings"].items()}
        return JobRecord(**data)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
