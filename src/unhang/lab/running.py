"""Runs a drill: the job with its faults, what is taken at the hang, the truth beside it."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from unhang.lab.attendance import Attendance
from unhang.lab.drill import Drill
from unhang.lab.ending import ended_in_order
from unhang.lab.folder import DrillFolder
from unhang.lab.launching import LauncherStart, starts
from unhang.lab.machine import require
from unhang.lab.surroundings import KernelLog, remove_control_groups, small_disk
from unhang.lab.truth import Truth, truth_of

LIMIT_S = 8.0
"""Seconds after which a collective of a drill gives up."""

LIVE_LIMIT_S = 600.0
"""The same where the judge watches: the stopwatch of a real job."""

WITHIN_S, HEALTHY_WITHIN_S = 55.0, 150.0
"""Seconds a job that fails, and one that is to finish, may take before it is ended."""


def run_drill(
    drill: Drill,
    out: Path,
    *,
    command: Sequence[str] = (),
    live: Sequence[str] | None = None,
    limit_s: float | None = None,
    within_s: float | None = None,
) -> Truth:
    """Run a drill and leave its artifacts and the truth in a folder.

    Args:
        drill: what goes wrong.
        out: a new or empty folder.
        command: a launch command of the user's own; empty = the lab's training script.
        live: run it under `unhang run` with these further options; None = without.
        limit_s: seconds after which a collective gives up; None = what suits the drill.
        within_s: seconds after which the job is ended, whatever it does; None = the usual ones.

    Raises:
        UsageError: the machine lacks what the drill needs, or the folder is in use.
    """
    require(drill)
    folder = DrillFolder(out.resolve())
    folder.make()
    usual = LIMIT_S if live is None else LIVE_LIMIT_S
    limit = limit_s or drill.limit_s or usual
    patience_s = within_s or (HEALTHY_WITHIN_S if drill.finishes else WITHIN_S)
    began = datetime.now(timezone.utc)
    with contextlib.ExitStack() as stack:
        stack.callback(_clean, folder)
        stack.enter_context(ended_in_order())
        if drill.small_disk:
            stack.enter_context(small_disk(folder.work / "checkpoints"))
        kernel = KernelLog()
        planned = stack.enter_context(starts(drill, folder, command, limit))
        if live is not None:
            planned = tuple(
                _watched(start, folder, (*live, *_node_options(folder, len(planned), number)))
                for number, start in enumerate(planned)
            )
        attendance = Attendance(
            drill, folder, planned, within_s=patience_s, watched=live is not None
        )
        code = attendance.run()
        kernel.save(folder.logs / "kernel.log", folder.ranks().values())
        truth = _conclude(drill, folder, code, began, stopped=attendance.stopped)
        truth.write(folder.root)
        return truth


def _watched(start: LauncherStart, folder: DrillFolder, options: Sequence[str]) -> LauncherStart:
    """The same launcher under `unhang run`."""
    run = (sys.executable, "-m", "unhang", "run", "--out", str(folder.run), *options, "--")
    return replace(start, command=(*run, *start.command))


def _node_options(folder: DrillFolder, nodes: int, number: int) -> tuple[str, ...]:
    """What `unhang run` is told of the other nodes."""
    if nodes == 1:
        return ()
    shared = ("--shared", str(folder.run / "shared"))
    return ("--nodes", str(nodes), "--node-rank", str(number), *shared)


def _conclude(
    drill: Drill, folder: DrillFolder, code: int, began: datetime, *, stopped: bool
) -> Truth:
    """The truth; files that tell nothing are dropped."""
    for path in folder.stacks.iterdir():
        if "most recent call first" not in path.read_text(encoding="utf-8", errors="replace"):
            path.unlink()
    for path in folder.dumps.glob("*.part"):
        path.unlink()
    acts, ranks = folder.acts(), folder.ranks()
    happened = acts[0]["at"] if acts else None
    if not drill.faults and not drill.finishes:
        happened = began.isoformat()  # it was there from the start
    remove_control_groups(ranks.values())
    truth = truth_of(
        drill,
        at=happened,
        world_size=len(ranks) or drill.world,
        exit_code=code,
        seconds=(datetime.now(timezone.utc) - began).total_seconds(),
        stopped=stopped,
    )
    return replace(truth, torch=_torch_version())


def _clean(folder: DrillFolder) -> None:
    """Remove what is no artifact."""
    for path in (folder.kit, folder.work):
        shutil.rmtree(path, ignore_errors=True)


def _torch_version() -> str | None:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None
