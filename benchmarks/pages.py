"""Measure the page of a large incident in a browser: its size, its first paint, how it scrolls.

    PYTHONPATH=tests python -m benchmarks.pages [--ranks 1024] [--write PAGE]

The incident is made up but no simpler than a real one: every rank leaves a log, a dump of its
Flight Recorder and its stacks; tensor, pipeline and data parallel groups wait behind one rank that
stands still; and the stacks are of many classes, since ranks are caught in different layers,
loaders and libraries. `unhang diagnose --format html` judges it and writes the page, and Chromium
(Debian's chromium and chromedriver) opens it from disk. The best of three openings counts: a
machine that is busy with other work delays them all.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import recorder_faults
from benchmarks.growth import raised, status, timed_out
from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_jobs import Job, mesh, train
from support.browser import chrome, complaints, show

MOST_MB, MOST_PAINT_MS, LEAST_FPS = 3.0, 1_000.0, 30.0
_OPENINGS = 3
_CLASSES = 96
"""Places where ranks are caught: of so many classes are the stacks."""
_PAINT = """
const done = arguments[0];
const tell = () => {
  const found = performance.getEntriesByName('first-contentful-paint')[0];
  found ? done(found.startTime) : setTimeout(tell, 20);
};
tell();
"""
_SCROLL = """
const done = arguments[0], most = document.documentElement.scrollHeight - innerHeight;
const begun = performance.now();
let frames = 0;
const step = (now) => {
  const part = (now - begun) / 3000;
  if (part >= 1) { done([frames / (now - begun) * 1000, most]); return; }
  frames += 1;
  scrollTo({top: most * part, behavior: 'instant'});
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def write_incident(folder: Path, ranks: int) -> int:
    """Write what a job left; returns the rank that holds up all others."""
    late = ranks // 3
    job = Job(train(mesh(ranks, tp=8, pp=4), steps=3))
    recorder_faults.stall(job, late, 9)
    job.run(random.Random(1))
    write(job, folder / "dumps", [Form()])
    (folder / "logs").mkdir()
    (folder / "stacks").mkdir()
    for rank in range(ranks):
        log = "\n".join(_log(rank, ranks, late=rank == late)) + "\n"
        (folder / "logs" / f"rank_{rank}.log").write_text(log, encoding="utf-8")
        stack = "\n".join(_stack(rank, late=rank == late)) + "\n"
        (folder / "stacks" / f"stack_rank{rank}.txt").write_text(stack, encoding="utf-8")
    return late


def _log(rank: int, ranks: int, *, late: bool) -> Iterator[str]:
    yield f"[rank{rank}]: world_size={ranks} local_rank={rank % 8} host=gpu-{rank // 8:03d}"
    for step in range(40):
        clock = f"15:{step % 60:02d}:{rank % 60:02d},100"
        yield f"2026-06-02 {clock} step {step}/9000 loss 2.{rank % 97}"
    if late:
        yield "2026-06-02 15:41:02,100 reading shard 17 of 4096"
        return
    yield timed_out(rank, 808)
    yield status(rank, 808)
    yield from raised(rank, f"torch.distributed.DistBackendError: NCCL {rank % 17} was aborted")


def _stack(rank: int, *, late: bool) -> Iterator[str]:
    """What py-spy prints; where a rank was caught differs from class to class."""
    pid, place = 40_000 + 64 * rank, rank * 7_919 % _CLASSES
    yield f"Process {pid}: /opt/conda/bin/python -u train.py --local_rank={rank % 8}"
    yield "Python v3.11.9 (/opt/conda/bin/python3.11)"
    yield ""
    yield f'Thread {pid} ({"active" if late else "idle"}): "MainThread"'
    if late:
        yield from ("    read (fsspec/spec.py:1989)", "    next_sample (data/shards.py:88)")
    else:
        yield "    all_reduce (torch/distributed/distributed_c10d.py:2501)"
        yield "    wrapper (torch/distributed/c10d_logger.py:81)"
    for depth in range(4 + place % 9):
        yield f"    forward_{place % 12}_{depth} (model/block_{place}.py:{100 + 7 * depth})"
    yield "    training_step (trainer/loop.py:212)"
    yield "    <module> (train.py:41)"
    for number in range(1, 6):
        yield f'Thread {pid + number} (idle): "Thread-{number}"'
        yield "    wait (threading.py:320)"
        yield f"    helper_{number} (data/loader.py:{number * 11})"
        yield "    _bootstrap (threading.py:995)"


def measure(page: Path, profile: Path) -> dict[str, float]:
    """Open a page some times; returns the best of what was seen."""
    browser = chrome(profile)
    browser.set_script_timeout(120)
    try:
        paints, rates, height = [], [], 0.0
        for _ in range(_OPENINGS):
            show(browser, page.as_uri(), width=1_440, theme="light")
            paints.append(browser.execute_async_script(_PAINT))
            rate, height = browser.execute_async_script(_SCROLL)
            rates.append(rate)
        nodes = browser.execute_script("return document.getElementsByTagName('*').length")
        return {
            "mb": page.stat().st_size / 1e6,
            "paint_ms": min(paints),
            "fps": max(rates),
            "height_px": height,
            "elements": nodes,
            "complaints": len(complaints(browser)),
        }
    finally:
        browser.quit()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--ranks", type=int, action="append", help="(default: 64 and 1024)")
    parser.add_argument("--write", metavar="PAGE", help="a Markdown page for the table")
    options = parser.parse_args()
    rows, failed = [], False
    for ranks in options.ranks or (64, 1_024):
        with tempfile.TemporaryDirectory(prefix="unhang-pages-") as name:
            folder, page = Path(name) / "job", Path(name) / "report.html"
            folder.mkdir()
            late = write_incident(folder, ranks)
            begun = time.monotonic()
            command = [sys.executable, "-m", "unhang", "diagnose", str(folder), "--format", "html"]
            subprocess.run([*command, "-o", str(page)], check=True)
            judged = time.monotonic() - begun
            found = measure(page, Path(name) / "profile")
            verdict = page.read_text(encoding="utf-8").partition('id="verdict"')[2]
            right = f"rank {late}" in verdict.partition("</section>")[0]
        good = found["mb"] <= MOST_MB and found["paint_ms"] <= MOST_PAINT_MS and right
        failed |= not (good and found["fps"] >= LEAST_FPS and not found["complaints"])
        print(json.dumps({"ranks": ranks, "judged_s": round(judged, 1), "right": right, **found}))
        rows.append(
            f"| {ranks:,} | {judged:.1f} s | {found['mb']:.2f} MB | {found['elements']:,.0f}"
            f" | {found['paint_ms']:.0f} ms | {found['fps']:.0f} | {found['height_px']:,.0f} px |"
        )
    if options.write:
        Path(options.write).write_text(_page(rows), encoding="utf-8")
    raise SystemExit(failed)


def _page(rows: list[str]) -> str:
    load = os.getloadavg()[0]
    return "\n".join((
        "# Pages of large incidents\n",
        "Written by `python -m benchmarks.pages`. Each rank of the made-up job leaves a log, a dump"
        f" and its stacks, which are of {_CLASSES} classes. Headless Chromium opens the page of"
        " `unhang diagnose --format html` from disk, 1,440 pixels wide, and scrolls through all of"
        f" it in 3 s; the best of {_OPENINGS} openings counts. Wanted are at most {MOST_MB:.0f} MB,"
        f" {MOST_PAINT_MS:.0f} ms to the first paint, and at least {LEAST_FPS:.0f} frames a second."
        f" {os.cpu_count()} cores, load {load:.1f} at the end.\n",
        "| ranks | judged in | page | elements | first paint | frames a second | height |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        *rows,
    )) + "\n"  # fmt: skip


if __name__ == "__main__":
    main()
