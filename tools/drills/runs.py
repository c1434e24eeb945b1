"""From drills to what became of each: run in a process of its own, some at a time, and judged."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from unhang.lab.drill import Drill
from unhang.lab.machine import missing
from unhang.lab.scoring import Report, judge_drill
from unhang.lab.truth import FILE

_LONGEST_S = 400.0
"""For one drill; each has limits of its own below that."""


@dataclass(frozen=True, slots=True)
class Result:
    """One drill that has run, or that cannot run here (`report` None).

    Attributes:
        failure: what the run printed where it left nothing to judge.
    """

    drill: Drill
    report: Report | None
    failure: str = ""


def run_all(
    drills: list[Drill], root: Path, *, live: bool, jobs: int, reuse: bool
) -> Iterator[Result]:
    """Yield the result of each drill as it is there.

    Args:
        drills: what to run.
        root: folder of the artifacts.
        live: run each under `unhang run`.
        jobs: so many at a time.
        reuse: judge what the folder holds already.
    """
    tasks = {}
    with ThreadPoolExecutor(jobs) as pool:
        for drill in drills:
            if missing(drill.needs):
                yield Result(drill, None)
                continue
            folder = root / f"{drill.name}{'-live' if live else ''}"
            tasks[pool.submit(_run, drill, folder, live=live, reuse=reuse)] = drill, folder
        for task in as_completed(tasks):
            drill, folder = tasks[task]
            if (folder / FILE).exists():
                yield Result(drill, judge_drill(folder))
            else:
                yield Result(drill, None, task.result())


def _run(drill: Drill, folder: Path, *, live: bool, reuse: bool) -> str:
    """Run one; what it printed."""
    if reuse and (folder / FILE).exists():
        return ""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "unhang", "drill", "run", drill.name, "--out", str(folder)]
    try:
        done = subprocess.run(
            [*command, *(["--live"] if live else [])],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_LONGEST_S,
        )
    except subprocess.TimeoutExpired:
        return f"not over after {_LONGEST_S:.0f} s"
    return done.stderr.strip() or done.stdout.strip()
