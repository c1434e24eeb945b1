"""Measure the judgement of stacks against a bare loop over the lines of the same files.

    python -m benchmarks.stacks [RANKSxTHREADS ...]

Writes what `py-spy dump` prints for a training job: one rank saves, the others wait in a call,
and each has helper threads. The floor reads every file, splits it into lines and matches each with
the one pattern of py-spy's frames, in a process of its own; each side is run in turn, and the best
of the runs counts. The start of either program is not in the times. A ratio above its target is an
error.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.flight_recorder import JUDGE

RUNS = 3
_MIB = 1 << 20
_SITE = "/opt/conda/lib/python3.11/site-packages"

_FLOOR = r"""
import json, os, re, sys, time
frame = re.compile(r"^\s*(\S.*?) \(([^()\s:]+):(\d+)\)\s*$")
begun = time.perf_counter()
frames = 0
for entry in sorted(os.scandir(sys.argv[1]), key=lambda e: e.name):
    with open(entry.path, encoding="utf-8") as stream:
        for line in stream.read().split("\n"):
            frames += frame.match(line) is not None
print(json.dumps([time.perf_counter() - begun, frames]))
"""


class Target(NamedTuple):
    """The ratio that a size must stay within."""

    ranks: int
    threads: int
    ratio: float | None


TARGETS = (Target(1024, 20, 60.0),)

_WAITS = (
    "all_reduce (torch/distributed/distributed_c10d.py:2501)",
    "wrapper (torch/distributed/c10d_logger.py:81)",
    "_allreduce_grads (trainer/engine.py:{0})",
    "backward (torch/_tensor.py:581)",
    "training_step (trainer/loop.py:212)",
    "train (trainer/loop.py:98)",
    "<module> (train.py:41)",
)
_SAVES = (
    "_save (torch/serialization.py:944)",
    "save (torch/serialization.py:619)",
    "save_checkpoint (trainer/checkpoint.py:77)",
    "train (trainer/loop.py:120)",
    "<module> (train.py:41)",
)
_HELPERS = (
    (
        "wait (threading.py:320)",
        "get (queue.py:180)",
        "_pin_memory_loop (torch/utils/data/_utils/pin_memory.py:45)",
        "run (threading.py:975)",
        "_bootstrap_inner (threading.py:1038)",
        "_bootstrap (threading.py:995)",
    ),
    (
        "wait (threading.py:324)",
        "_recv_msg (torch/_inductor/compile_worker/subproc_pool.py:55)",
        "run (threading.py:975)",
        "_bootstrap (threading.py:995)",
    ),
    (
        "select (selectors.py:415)",
        "_poll (wandb/sdk/interface/router_sock.py:26)",
        "message_loop (wandb/sdk/interface/router.py:77)",
        "run (threading.py:975)",
        "_bootstrap (threading.py:995)",
    ),
)


def write_stacks(folder: Path, ranks: int, threads: int) -> int:
    """Write one file for each rank; returns the bytes of all."""
    total = 0
    for rank in range(ranks):
        text = "\n".join(_dump(rank, saves=rank == ranks // 2, threads=threads)) + "\n"
        (folder / f"stack_rank{rank}.txt").write_text(text, encoding="utf-8")
        total += len(text)
    return total


def _dump(rank: int, *, saves: bool, threads: int) -> Iterator[str]:
    pid = 40_000 + 64 * rank
    yield f"Process {pid}: /opt/conda/bin/python -u train.py --local_rank={rank % 8}"
    yield "Python v3.11.9 (/opt/conda/bin/python3.11)"
    yield ""
    yield f'Thread {pid} ({"active" if saves else "idle"}): "MainThread"'
    main = _SAVES if saves else _WAITS
    yield from (f"    {frame.format(300 + rank % 3)}" for frame in main)
    for number in range(1, threads):
        yield f'Thread {pid + number} (idle): "Thread-{number}"'
        yield from (f"    {frame}" for frame in _HELPERS[number % len(_HELPERS)])


def main() -> None:
    sizes = (size.split("x") for size in sys.argv[1:])
    asked = [Target(int(ranks), int(threads), None) for ranks, threads in sizes]
    failed = False
    for target in asked or TARGETS:
        with tempfile.TemporaryDirectory(prefix="unhang-stacks-") as name:
            size = write_stacks(Path(name), target.ranks, target.threads)
            runs = [(_run(_FLOOR, name), _run(JUDGE, name)) for _ in range(RUNS)]
        floor = min(float(one[0]) for one, _ in runs)
        judged = min(float(one[0]) for _, one in runs)
        culprits = runs[0][1][1]
        failed |= target.ratio is not None and judged > target.ratio * floor
        print(
            f"{target.ranks} ranks x {target.threads} threads, {size / _MIB:.0f} MiB,"
            f" {runs[0][0][1]:,} frames: line loop {floor:.2f} s, unhang {judged:.2f} s"
            f" = {judged / floor:.1f} x (target {target.ratio}); culprits {culprits}"
        )
    sys.exit(failed)


def _run(program: str, folder: str) -> list[object]:
    """What a process of its own prints."""
    command = [sys.executable, "-c", program, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told: list[object] = json.loads(done.stdout)
    return told


if __name__ == "__main__":
    main()
