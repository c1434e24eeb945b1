"""Reads what Slurm's accounting knows of jobs: `sacct -P -o JobID,NodeList,Start,Elapsed,…`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from unhang import lazy_re as re
from unhang.errors import UsageError
from unhang.model.fleet import JobRecord
from unhang.model.host_lists import expand_hosts
from unhang.surveying.find import group_of

_NEEDED = ("JobID", "NodeList")
_ELAPSED = re.compile(r"(?:(\d{1,6})-)?(\d{1,6}):(\d\d):(\d\d)")
_GPUS = re.compile(r"gres/gpu(?::[^=,]*)?=(\d{1,9})\b")


@dataclass(frozen=True, slots=True)
class Accounting:
    """Rows by job number."""

    rows: Mapping[str, Mapping[str, str]]


def read_accounting(path: str) -> Accounting:
    """Read the table that `sacct -P` printed.

    Raises:
        UsageError: it cannot be read, or a column is missing.
    """
    try:
        with Path(path).open(encoding="utf-8", errors="replace", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="|", quoting=csv.QUOTE_NONE))
    except (OSError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    missing = [name for name in _NEEDED if not rows or name not in rows[0]]
    if missing:
        raise UsageError(
            f"{path} has no column {missing[0]}; expected what"
            " `sacct -P -X -o JobID,NodeList,Start,Elapsed,AllocTRES` prints"
        )
    return Accounting(
        {row["JobID"]: row for row in rows if row["JobID"] and "." not in row["JobID"]}
    )


def told_by(accounting: Accounting, job: JobRecord) -> JobRecord:
    """The record with the hosts, hours and GPUs that the scheduler counted, where it knows it."""
    row = accounting.rows.get(group_of(job.name.rsplit("/", 1)[-1]))
    if row is None:
        return job
    hosts = {*expand_hosts(row["NodeList"]), *job.culprit_hosts}
    job = replace(job, hosts=tuple(sorted(hosts)))
    if (elapsed := _ELAPSED.fullmatch(row.get("Elapsed") or "")) is not None:
        days, hours, minutes, seconds = (int(part or 0) for part in elapsed.groups())
        job = replace(job, hours=days * 24 + hours + minutes / 60 + seconds / 3600)
    if (gpus := _GPUS.search(row.get("AllocTRES") or "")) is not None:
        job = replace(job, world_size=job.world_size or int(gpus[1]))
    try:
        started = (
            datetime.fromisoformat(row.get("Start") or "").replace(tzinfo=timezone.utc).timestamp()
        )
    except ValueError:
        return job
    return replace(job, started=started)
