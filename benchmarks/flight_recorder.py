"""Measure the judgement of Flight Recorder dumps against loading the same files and no more.

    python -m benchmarks.flight_recorder [RANKSxCALLS ...]

The floor is C's `pickle.load` of every file without garbage collection, in a process of its own;
each side is run in turn, and the best of the runs counts. The start of either program (Python, and
for unhang 0.3 s of imports) is not in the times. A ratio above its target is an error.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_faults import settle
from benchmarks.recorder_jobs import Job, mesh, train

RUNS = 3
_MIB = 1 << 20

_FLOOR = """
import gc, json, os, pickle, sys, time
gc.disable()
begun = time.perf_counter()
for entry in sorted(os.scandir(sys.argv[1]), key=lambda e: e.name):
    with open(entry.path, "rb") as stream:
        pickle.load(stream)
seconds = time.perf_counter() - begun
print(json.dumps([seconds, 0, []]))
"""

_JUDGE = """
import json, re, sys, time
import unhang.api
begun = time.perf_counter()
diagnosis = unhang.diagnose(sys.argv[1])
seconds = time.perf_counter() - begun
# Not `ru_maxrss`: a child inherits it from the process that started it.
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps([seconds, peak, sorted(diagnosis.culprits)]))
"""


class Target(NamedTuple):
    """What a size must stay within; None: not asked for."""

    ranks: int
    calls: int
    ratio: float | None
    peak_mib: int | None


TARGETS = (
    Target(256, 2000, 2.0, None),
    Target(1024, 2000, 2.5, 300),
    Target(16_384, 200, None, 1024),
)


class Measured(NamedTuple):
    """The best run of one side."""

    seconds: float
    peak_mib: float
    culprits: list[int]


def main(sizes: list[str]) -> int:
    failed = False
    for target in TARGETS:
        if sizes and f"{target.ranks}x{target.calls}" not in sizes:
            continue
        with tempfile.TemporaryDirectory() as folder:
            culprit = prepare(Path(folder), target)
            size = sum(file.stat().st_size for file in Path(folder).iterdir())
            floors, ours = [], []
            for _ in range(RUNS):
                floors.append(run(_FLOOR, folder))
                ours.append(run(_JUDGE, folder))
        floor, best = min(floors), min(ours)
        ratio = best.seconds / floor.seconds
        right = best.culprits == [culprit]
        within = right and (target.ratio is None or ratio <= target.ratio)
        within = within and (target.peak_mib is None or best.peak_mib <= target.peak_mib)
        failed = failed or not within
        print(
            f"{target.ranks:>6} ranks x {target.calls} calls, {size / _MIB:.0f} MiB: "
            f"load {floor.seconds:.2f} s, unhang {best.seconds:.2f} s, ratio {ratio:.2f}"
            f" (target {target.ratio}), peak {best.peak_mib:.0f} MiB (target {target.peak_mib}),"
            f" {'right' if right else f'WRONG {best.culprits}'}{'' if within else '  MISSED'}",
            flush=True,
        )
    return int(failed)


def prepare(folder: Path, target: Target) -> int:
    """Write the dumps of a job in which one rank stalls, and return that rank."""
    job = Job(train(mesh(target.ranks, 8, 4), target.calls // 6, layers=3))
    culprit = target.ranks * 5 // 8 + 3
    settle(job, culprit, line=40)
    write(job, folder, [Form(buffer=target.calls, frames=12)])
    return culprit


def run(script: str, folder: str) -> Measured:
    done = subprocess.run(
        [sys.executable, "-c", script, folder], check=True, capture_output=True, text=True
    )
    seconds, peak_kib, culprits = json.loads(done.stdout)
    return Measured(seconds, peak_kib / 1024, culprits)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
