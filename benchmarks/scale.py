"""How a diagnosis grows with the ranks of a job: logs, dumps and stacks of each, and the truth.

    python -m benchmarks.scale [--write PAGE] [--logs RANKSxMIB ...] [RANKS ...]

One rank saves and does not come to the call in which all others wait: its stack shows it, its dump
ends before the call, its log before the time-out. The floor reads the same files once: logs and
stacks as text, line by line, dumps by C's `pickle.load`. Each side has a process of its own.

Then how it grows with the bytes: jobs of which there are logs alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.flight_recorder import JUDGE, Measured, run
from benchmarks.growth import status, timed_out
from benchmarks.logs import LATE, write_logs
from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_faults import settle
from benchmarks.recorder_jobs import Job, shard
from benchmarks.stacks import write_stacks

SIZES = (64, 256, 1_024, 4_096, 16_384)
LOGS = ("1024x1", "1024x5", "1024x20")
"""Ranks, and MiB of each log."""
_JUDGE = JUDGE.replace("sys.argv[1]", "sys.argv[1], processes=None")
"""As the command does: by one process for each core where there is much to read."""
_MIB = 1 << 20
_STEPS, _CALLS, _THREADS = 400, 40, 4
_FLOOR = """
import gc, json, os, pickle, sys, time
gc.disable()
begun = time.perf_counter()
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as stream:
            if name.startswith("nccl"):
                pickle.load(stream)
            else:
                stream.read().decode().split("\\n")
print(json.dumps([time.perf_counter() - begun, []]))
"""


class Row(NamedTuple):
    """One size."""

    ranks: int
    size_mib: float
    floor: Measured
    ours: Measured
    right: bool


def incident(folder: Path, ranks: int) -> int:
    """Write what is left of a job of so many ranks, and return the rank that all wait for."""
    culprit = ranks // 2
    for name in ("logs", "dumps", "stacks"):
        (folder / name).mkdir()
    write_stacks(folder / "stacks", ranks, _THREADS)
    job = Job(shard(ranks, _CALLS // 8))
    settle(job, culprit, line=job.ranks[0].program[-1].line)
    write(job, folder / "dumps", [Form(buffer=_CALLS, frames=6)])
    waited_for = job.ranks[culprit].issued + 1
    for rank in range(ranks):
        lines = _log(rank, None if rank == culprit else waited_for)
        (folder / f"logs/rank{rank}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return culprit


def _log(rank: int, timeout_at: int | None) -> Iterator[str]:
    for step in range(_STEPS):
        yield f"[rank{rank}]: step {step}/1000 loss {2 + step % 7 / 10:.3f} lr 1.0e-05"
    if timeout_at is None:
        yield f"[rank{rank}]: Saving model checkpoint to /ckpt/checkpoint-{_STEPS}"
    else:
        yield timed_out(rank, timeout_at)
        yield status(rank, timeout_at)


def measure(ranks: int) -> Row:
    """Run both sides on one incident."""
    with tempfile.TemporaryDirectory(prefix="unhang-scale-") as name:
        culprit = incident(Path(name), ranks)
        size = sum(file.stat().st_size for file in Path(name).rglob("*") if file.is_file())
        floor = run([sys.executable, "-c", _FLOOR, name])
        ours = run([sys.executable, "-c", _JUDGE, name])
    return Row(ranks, size / _MIB, floor, ours, ours.culprits == [culprit])


def with_logs(asked: str) -> str:
    """Run on logs alone, of `RANKSxMIB`; the line of the table."""
    ranks, each = map(int, asked.split("x"))
    with tempfile.TemporaryDirectory(prefix="unhang-logs-") as name:
        files = write_logs(Path(name), ranks=ranks, total_bytes=ranks * each * _MIB)
        gib = sum(file.stat().st_size for file in files) / (1 << 30)
        load = os.getloadavg()[0]
        ours = run([sys.executable, "-c", _JUDGE, name])
    named = "the right rank" if ours.culprits == [LATE] else f"WRONG: {ours.culprits}"
    cpu = ours.cpu_seconds
    return (
        f"| {ranks:,} | {each} | {gib:.2f} | {ours.seconds:.2f} | {cpu:.2f} | {cpu / gib:.2f} |"
        f" {ours.peak_mib:.0f} | {load:.1f} | {named} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("ranks", nargs="*", type=int, help="of each incident; 0: none")
    parser.add_argument("--logs", nargs="*", default=LOGS, metavar="RANKSxMIB", help="logs alone")
    parser.add_argument("--write", type=Path, help="the page to write")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    rows: list[Row] = []
    for ranks in filter(None, options.ranks or SIZES):
        rows.append(measure(ranks))
        print(_line(rows[-1]), flush=True)
    logs = []
    for asked in options.logs:
        logs.append(with_logs(asked))
        print(logs[-1], flush=True)
    if options.write is not None:
        cores, python = len(os.sched_getaffinity(0)), platform.python_version()
        page = _HEAD.format(cores=cores, python=python, load=load)
        lines = [*map(_line, rows), _LOGS_HEAD, *logs]
        options.write.write_text(page + "\n".join(lines) + "\n", encoding="utf-8")
    sys.exit(not all(row.right for row in rows) or any("WRONG" in line for line in logs))


def _line(row: Row) -> str:
    ours, cpu = row.ours, row.ours.cpu_seconds
    return (
        f"| {row.ranks:,} | {row.size_mib:.1f} | {ours.seconds:.2f} | {cpu:.2f} |"
        f" {1_000 * cpu / row.ranks:.1f} | {cpu / row.floor.cpu_seconds:.0f} | {ours.peak_mib:.0f}"
        f" | {'the right rank' if row.right else f'WRONG: {ours.culprits}'} |"
    )


_HEAD = """\
<!-- Made by `make bench`; edit benchmarks/scale.py, not this page. -->

# Growth with the ranks

Measured on {cores} cores with Python {python} (load {load:.1f} when the run began). Each job left a
log, a Flight Recorder dump and a py-spy stack of every rank; one rank saves, the others wait for it
in a call. The floor reads the same files once: text split into lines, dumps by C's `pickle.load`.
Seconds are without the start of the program, CPU seconds with it; memory is that of all processes,
pages that they share counted once. One process for each core reads where there is much to read, as
the command does.

| ranks | MiB | seconds | CPU seconds | CPU ms a rank | × floor's CPU | peak MiB | who is named |
|---:|---:|---:|---:|---:|---:|---:|---|
"""
_LOGS_HEAD = """
## With the bytes

Logs alone, of training that runs for days and then hangs.

| ranks | MiB a rank | GiB | seconds | CPU seconds | CPU s a GiB | peak MiB | load | who is named |
|---:|---:|---:|---:|---:|---:|---:|---:|---|"""

if __name__ == "__main__":
    main()
