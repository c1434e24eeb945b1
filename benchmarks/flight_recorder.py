"""Measure the judgement of Flight Recorder dumps against loading them, and against torch's own.

    python -m benchmarks.flight_recorder [--write PAGE] [--rounds N] [RANKSxCALLS ...]

The floor is C's `pickle.load` of every file without garbage collection. In a round each side runs
once, in a process of its own, and the best round of each counts. The start of the programs (Python,
imports) is not in the times of the floor and of unhang; it is in that of torch's analyser, which is
a command. A ratio above its target is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import peak_while
from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_faults import settle
from benchmarks.recorder_jobs import Job, mesh, train

_MIB = 1 << 20

_FLOOR = """
import gc, json, os, pickle, sys, time
gc.disable()
begun = time.perf_counter()
for entry in sorted(os.scandir(sys.argv[1]), key=lambda e: e.name):
    with open(entry.path, "rb") as stream:
        pickle.load(stream)
print(json.dumps([time.perf_counter() - begun, []]))
"""
JUDGE = """
import json, sys, time
import unhang.api
begun = time.perf_counter()
diagnosis = unhang.diagnose(sys.argv[1])
print(json.dumps([time.perf_counter() - begun, sorted(diagnosis.culprits)]))
"""
"""Prints the seconds that a verdict took, and its culprits."""
_ANALYSER = "torch.distributed.flight_recorder.fr_trace"
# After ten differences it would stop, long before the end.
_ANALYSER_OPTIONS = ("-p", "nccl_trace_rank_", "--mismatch_cap", "1000000000")


class Target(NamedTuple):
    """What a size must stay within; None: not asked for.

    Attributes:
        ratio: of unhang's time to the floor's.
        faster: how many times faster than torch's analyser.
    """

    ranks: int
    calls: int
    ratio: float | None = None
    peak_mib: int | None = None
    faster: float | None = None


TARGETS = (
    Target(256, 2000, ratio=2.0),
    Target(1024, 2000, ratio=2.5, peak_mib=300, faster=10.0),
    Target(16_384, 200, peak_mib=1024),
)


class Measured(NamedTuple):
    """The best run of one side; `cpu_seconds` are of the whole command."""

    seconds: float
    cpu_seconds: float
    peak_mib: float
    culprits: list[int]


class Row(NamedTuple):
    """One size."""

    target: Target
    size_mib: float
    floor: Measured
    ours: Measured
    torch: Measured | None
    right: bool

    @property
    def ratio(self) -> float:
        """Of unhang's time to the floor's."""
        return self.ours.seconds / self.floor.seconds

    @property
    def faster(self) -> float | None:
        """How many times faster than torch's analyser."""
        return None if self.torch is None else self.torch.seconds / self.ours.seconds

    @property
    def within(self) -> bool:
        """Whether nothing that is asked for is missed."""
        target, faster = self.target, self.faster
        return (
            self.right
            and (target.ratio is None or self.ratio <= target.ratio)
            and (target.peak_mib is None or self.ours.peak_mib <= target.peak_mib)
            and (target.faster is None or faster is None or faster >= target.faster)
        )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flight_recorder")
    parser.add_argument("sizes", nargs="*", help="RANKSxCALLS; none = all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path, help="the page to write")
    options = parser.parse_args(arguments)
    load = os.getloadavg()[0]
    rows = []
    for target in TARGETS:
        if not options.sizes or f"{target.ranks}x{target.calls}" in options.sizes:
            rows.append(measure(target, options.rounds))
            print(_line(rows[-1]), flush=True)
    if options.write is not None:
        options.write.write_text(_page(rows, load), encoding="utf-8")
    return int(not all(row.within for row in rows))


def measure(target: Target, rounds: int) -> Row:
    """Run all sides on one set of dumps."""
    with tempfile.TemporaryDirectory(prefix="unhang-bench-") as folder:
        culprit = prepare(Path(folder), target)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        floors, ours = [], []
        for _ in range(rounds):
            floors.append(run([sys.executable, "-c", _FLOOR, folder]))
            ours.append(run([sys.executable, "-c", JUDGE, folder]))
        torch = None
        if target.faster is not None:
            torch = run([sys.executable, "-m", _ANALYSER, folder, *_ANALYSER_OPTIONS], timed=False)
    best = min(ours)
    best = best._replace(peak_mib=max(run.peak_mib for run in ours))
    right = all(run.culprits == [culprit] for run in ours)
    return Row(target, size / _MIB, min(floors), best, torch, right)


def prepare(folder: Path, target: Target) -> int:
    """Write the dumps of a job in which one rank stalls, and return that rank.

    Torch's analyser cannot match sends and receives: where it takes part, the job has none.
    """
    job = Job(train(mesh(target.ranks, 8, 4), target.calls // 6, layers=3))
    if target.faster is not None:
        job = Job(train(mesh(target.ranks, 8, 1), target.calls // 6, layers=3))
    culprit = target.ranks * 5 // 8 + 3
    settle(job, culprit, line=40)
    write(job, folder, [Form(buffer=target.calls, frames=12)])
    return culprit


def run(command: Sequence[str], *, timed: bool = True) -> Measured:
    """Run one side; the command tells its own time and what it found, or its wall time counts."""
    before = os.times()
    began = time.perf_counter()
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, stdout=said, stderr=subprocess.DEVNULL) as process,
    ):
        peak_mib = peak_while(process)
        said.seek(0)
        text = said.read()
    seconds, culprits = time.perf_counter() - began, []
    after = os.times()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)[:200]} ended with {process.returncode}")
    if timed:
        seconds, culprits = json.loads(text)
    used = after.children_user + after.children_system
    return Measured(
        seconds, used - before.children_user - before.children_system, peak_mib, culprits
    )


def _line(row: Row) -> str:
    target, faster = row.target, row.faster
    return (
        f"{target.ranks:>6} ranks x {target.calls} calls, {row.size_mib:.0f} MiB: "
        f"load {row.floor.seconds:.2f} s, unhang {row.ours.seconds:.2f} s "
        f"({row.ours.cpu_seconds:.2f} s CPU), ratio {row.ratio:.2f} (target {target.ratio}), "
        f"peak {row.ours.peak_mib:.0f} MiB (target {target.peak_mib})"
        + ("" if faster is None else f", {faster:.1f} x faster than torch's analyser")
        + f", {'right' if row.right else 'WRONG'}{'' if row.within else '  MISSED'}"
    )


def _page(rows: Sequence[Row], load: float) -> str:
    head = _HEAD.format(
        cores=len(os.sched_getaffinity(0)), python=platform.python_version(), load=load
    )
    lines = [
        "| ranks × calls | MiB | `pickle.load` | unhang | ratio | peak MiB | torch's analyser |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        torch = (
            "" if row.torch is None else f"{row.torch.seconds:.0f} s: {row.faster:.0f} × as long"
        )
        lines.append(
            f"| {row.target.ranks:,} × {row.target.calls:,} | {row.size_mib:.0f} "
            f"| {row.floor.seconds:.2f} s | {row.ours.seconds:.2f} s | {row.ratio:.2f} "
            f"| {row.ours.peak_mib:.0f} | {torch} |"
        )
    return head + "\n".join(lines) + "\n"


_HEAD = """\
<!-- Made by `make bench`; edit benchmarks/flight_recorder.py, not this page. -->

# Speed and memory with Flight Recorder dumps

Measured on {cores} cores with Python {python} (load {load:.1f} when the run began): the best of
several rounds, in which each side ran once. The dumps are made up: a job with tensor, pipeline and
data parallelism, or without pipeline where torch's analyser takes part, twelve frames a call, one
rank that stalls. The floor is C's `pickle.load` of every file, with nothing done. Times are without
the start of the program for the floor and for unhang, memory is that of all its processes, pages
that they share counted once.

"""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
