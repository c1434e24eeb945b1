"""Measure unhang against ripgrep and against an empty Python, and write the page of figures."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.logs import write_logs
from benchmarks.measure import Measured, best
from unhang.engine.reading import WANTED
from unhang.sources.plan import plan

UNHANG = str(Path(sys.executable).with_name("unhang"))
DEMO = "tests/cases/demo/input"
RANKS = 8
_DEFAULT = """
import sys
sys.modules["hyperscan"] = None
from unhang.commands import main
sys.exit(main())
"""
"""The command as `pip install unhang` brings it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    what: str
    measured: Measured
    ratio: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--gib", type=float, default=2.0, help="size of the logs")
    parser.add_argument("--large-gib", type=float, default=0.0, help="and of a larger set")
    load = os.getloadavg()[0]
    parser.add_argument("--write", type=Path, help="the page to write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unhang-bench-") as folder:
        rows = [*_start_up(), *_logs(Path(folder), options.gib, runs=3)]
        if options.large_gib:
            rows += _logs(Path(folder), options.large_gib, runs=1)
    page = _page(rows, options.gib, load)
    print(page)
    if options.write is not None:
        options.write.write_text(page, encoding="utf-8")


def _start_up() -> Iterator[Row]:
    empty = best([sys.executable, "-c", "pass"], runs=5)
    yield Row(what="`python -c pass`", measured=empty)
    for command in ([UNHANG, "--help"], [UNHANG, "diagnose", DEMO]):
        measured = best(command, runs=5)
        yield Row(
            what=f"`{' '.join(['unhang', *command[1:]])}`",
            measured=measured,
            ratio=f"{measured.seconds / empty.seconds:.0f} × `python -c pass`",
        )


def _logs(folder: Path, gib: float, *, runs: int) -> Iterator[Row]:
    target = folder / f"{gib:g}"
    target.mkdir()
    print(f"writing {gib:g} GiB of logs", file=sys.stderr)
    for path in write_logs(target, ranks=RANKS, total_bytes=int(gib * (1 << 30))):
        path.read_bytes()  # both sides find them in memory
    ours = best([UNHANG, "diagnose", str(target)], runs=runs)
    yield Row(what=f"`unhang diagnose`, {gib:g} GiB", measured=ours)
    default = best([sys.executable, "-c", _DEFAULT, "diagnose", str(target)], runs=runs)
    yield Row(
        what=f"the same without Hyperscan, {gib:g} GiB",
        measured=default,
        ratio=f"{ours.seconds / default.seconds:.2f} of the speed with it, by CPU time "
        f"{ours.cpu_seconds / default.cpu_seconds:.2f}",
    )
    if shutil.which("rg") is None:
        print("ripgrep is not installed: apt-get install ripgrep", file=sys.stderr)
        return
    prepared = plan(WANTED, plain=True)
    everywhere = prepared.rare.needles
    wanted = {*everywhere, *prepared.frequent.needles}
    for kind, searched in (("all needles", wanted), ("needles searched everywhere", everywhere)):
        needles = folder / "needles.txt"
        needles.write_bytes(b"\n".join(sorted(searched)) + b"\n")
        theirs = best(["rg", "-c", "-a", "-F", "-f", str(needles), str(target)], runs=runs)
        yield Row(
            what=f"`rg -c -a -F -f`, {len(searched)} {kind}, {gib:g} GiB",
            measured=theirs,
            ratio=f"unhang takes {ours.seconds / theirs.seconds:.2f} of its time and "
            f"{ours.cpu_seconds / theirs.cpu_seconds:.2f} of its CPU time",
        )
    shutil.rmtree(target)


def _page(rows: list[Row], gib: float, load: float) -> str:
    head = _HEAD.format(
        gib=gib,
        ranks=RANKS,
        cores=len(os.sched_getaffinity(0)),
        python=platform.python_version(),
        load=load,
    )
    lines = ["| what | seconds | CPU seconds | peak MiB | ratio |", "|---|---:|---:|---:|---|"]
    lines += [
        f"| {row.what} | {row.measured.seconds:.2f} | {row.measured.cpu_seconds:.2f} "
        f"| {row.measured.peak_mib:.0f} | {row.ratio} |"
        for row in rows
    ]
    return head + "\n".join(lines) + "\n" + _FOOT


_HEAD = """\
<!-- Made by `make bench`; edit benchmarks/__main__.py, not this page. -->

# Speed and memory

Measured on {cores} cores with Python {python}: the fastest of several runs, and the highest memory
of the whole process tree (shared pages counted once). Seconds differ from machine to machine, and
with what else runs there (load {load:.1f} when this run began): the ratios are taken within one
run, and that of CPU time is the steadier one. The logs are synthetic: {gib:g} GiB of {ranks} ranks
that train healthily (progress bars, losses, step lines, checkpoints) and then hang.

"""
_FOOT = """
What the comparison says. `rg` counts the lines that hold a needle; unhang finds them, reads what
they say, and judges. Needles that are rare in healthy logs are searched in every byte. Those that
stand on every line (progress bars, losses), and those of two bytes, are searched at the beginning,
before each rare hit, before the end, and in samples between. What comes back far apart again and
again (a save) is read without its surroundings. `rg` is given all needles, and then only the ones
that unhang searches everywhere. The first is the easier task for `rg`: with a needle on nearly
every line it may skip to the next line at once, and reads a part of the bytes. When both have to
read every byte, they take about the same CPU time; unhang's wall time has a fixed part of some
tenths of a second besides (Python's start, then the verdict), which weighs less
the larger the logs are.

Memory does not grow with the logs: a chunk of each file is in memory at a time, and what is kept
are events, not lines. The figures are those with Hyperscan (`pip install 'unhang[fast]'` brings
it). The default installation searches with an Aho-Corasick automaton, at 0.2 of that speed in
lines without a needle (330 to 510 MB/s where Hyperscan did 1,200 to 2,100 on the same core), and
as fast where every line holds one. Logs are read at 0.37 of the speed at worst, for the search is
only a part of that. An automaton takes a step for each byte: it is hardly faster with five needles.
Without either, in Python alone, the search is 5 times slower
than with Hyperscan where lines repeat but for their numbers, and up to 300 times where they do not
(6 MB/s). The lines that are found are the same.
"""

if __name__ == "__main__":
    main()
