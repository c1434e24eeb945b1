"""Runs a drill: the job with its faults, what is taken at the hang, the truth beside it."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from unhang.lab.drill import Drill
from unhang.lab.folder import DrillFolder
from unhang.lab.job import Console, Launcher, end_processes, is_alive, send
from unhang.lab.launching import FOLDER_VARIABLE, Start, starts
from unhang.lab.machine import require
from unhang.lab.surroundings import KernelLog, remove_control_groups, small_disk
from unhang.lab.truth import Truth, truth_of

LIMIT_S = 8.0
"""Seconds after which a collective of a drill gives up."""

LIVE_LIMIT_S = 600.0
"""The same where the judge watches: the stopwatch of a real job."""

WITHIN_S = 55.0
"""Seconds a drill may take before it is ended."""

_LEFT_BEHIND_S = 6.0
"""Seconds that the launcher gets to end the other ranks once one has died after the hang."""

_ANSWER_S = 1.0
"""Seconds that the ranks get to write stacks and dumps before they are ended."""

_MOST_TAKEN = 4
"""Times that stacks and dumps are taken."""

_TICK_S = 0.1
_STACK_SIGNAL = signal.SIGUSR2  # as faults.witness answers


def run_drill(
    drill: Drill,
    out: Path,
    *,
    command: Sequence[str] = (),
    live: Sequence[str] | None = None,
    limit_s: float | None = None,
    within_s: float = WITHIN_S,
) -> Truth:
    """Run a drill and leave its artifacts and the truth in a folder.

    Args:
        drill: what goes wrong.
        out: a new or empty folder.
        command: a launch command of the user's own; empty = the lab's training script.
        live: run it under `unhang run` with these further options; None = without.
        limit_s: seconds after which a collective gives up; None = what suits the drill.
        within_s: seconds after which the job is ended, whatever it does.

    Raises:
        UsageError: the machine lacks what the drill needs, or the folder is in use.
    """
    require(drill)
    folder = DrillFolder(out.resolve())
    folder.make()
    usual = LIMIT_S if live is None else LIVE_LIMIT_S
    limit = limit_s or drill.limit_s or usual
    began = datetime.now(timezone.utc)
    with contextlib.ExitStack() as stack:
        stack.callback(_clean, folder)
        if drill.small_disk:
            stack.enter_context(small_disk(folder.work / "checkpoints"))
        kernel = KernelLog()
        planned = stack.enter_context(starts(drill, folder, command, limit))
        if live is not None:
            planned = tuple(_watched(start, folder, live) for start in planned)
        code = _Attendance(
            drill, folder, planned, within_s=within_s, watched=live is not None
        ).run()
        kernel.save(folder.logs / "kernel.log")
        return _conclude(drill, folder, code, began)


@dataclass(slots=True)
class _Attendance:
    """Waits for the fault, takes the stacks and dumps of the hang, and sees the job end."""

    drill: Drill
    folder: DrillFolder
    planned: tuple[Start, ...]
    within_s: float
    watched: bool
    _acted: bool = False
    _since: float = 0.0
    _taken: int = 0
    _lost: float | None = None
    _launchers: list[Launcher] = field(default_factory=list)

    def run(self) -> int:
        """Run the job to its end; the exit code of the first launcher that failed, or 0."""
        per_node = self.drill.world // len(self.planned)
        console = Console(self.folder.logs, nodes=len(self.planned), per_node=per_node)
        end = time.monotonic() + self.within_s
        try:
            self._launchers = [
                Launcher(
                    start.command,
                    environment=start.environment,
                    folder=start.folder,
                    logs=console,
                    node=node,
                )
                for node, start in enumerate(self.planned)
            ]
            while time.monotonic() < end and not all(each.ended() for each in self._launchers):
                self._look(time.monotonic())
                time.sleep(_TICK_S)
            if not all(each.ended() for each in self._launchers):
                self._take()
                time.sleep(_ANSWER_S)
                for launcher in self._launchers:
                    send(launcher.process.pid, signal.SIGTERM)
                self._await_end()
                self._end_ranks()
        finally:
            end_processes(FOLDER_VARIABLE, str(self.folder.root))
            codes = [each.close() for each in self._launchers]
            console.close()
        return next((code for code in codes if code != 0), 0)

    def _look(self, now: float) -> None:
        """One look at the job."""
        if self.drill.finishes:
            return
        if not self._acted:
            self._acted = bool(self.folder.acts()) and self.folder.all_joined()
            self._since = now
        elif self._lost is not None:
            if now - self._lost >= _LEFT_BEHIND_S:
                self._end_ranks()
        elif any(not is_alive(pid) for pid in self.folder.ranks().values()):
            self._lost = now
        elif self._taken < _MOST_TAKEN and now - self._since >= self.drill.settle_s:
            self._take()
            self._since = now

    def _take(self) -> None:
        """Order dumps, and stacks of all threads: both show the same moment.

        It is done again and again until a rank gives up: the last time is nearest to the hang,
        and two stacks tell whether a rank gets on.
        """
        self._taken += 1
        self.folder.order.touch()
        for pid in self.folder.ranks().values():
            if is_alive(pid):
                send(pid, _STACK_SIGNAL)

    def _end_ranks(self) -> None:
        """End ranks that their launcher's signal does not reach: stopped ones, and held locks."""
        for pid in self.folder.ranks().values():
            send(pid, signal.SIGKILL)
        self._await_end()

    def _await_end(self) -> None:
        """Give the launchers some time to end."""
        end = time.monotonic() + _LEFT_BEHIND_S
        while time.monotonic() < end and not all(each.ended() for each in self._launchers):
            time.sleep(_TICK_S)


def _watched(start: Start, folder: DrillFolder, options: Sequence[str]) -> Start:
    """The same launcher under `unhang run`."""
    run = (sys.executable, "-m", "unhang", "run", "--out", str(folder.run), *options, "--")
    return replace(start, command=(*run, *start.command))


def _conclude(drill: Drill, folder: DrillFolder, code: int, began: datetime) -> Truth:
    """Write the truth, and drop files that tell nothing."""
    for path in folder.stacks.iterdir():
        if "most recent call first" not in path.read_text(encoding="utf-8", errors="replace"):
            path.unlink()
    for path in folder.dumps.glob("*.part"):
        path.unlink()
    acts, ranks = folder.acts(), folder.ranks()
    happened = acts[0]["at"] if acts else None
    if not drill.faults and not drill.finishes:
        happened = began.isoformat()  # it was there from the start
    remove_control_groups(list(ranks.values()))
    truth = truth_of(
        drill,
        at=happened,
        world_size=len(ranks) or drill.world,
        exit_code=code,
        seconds=(datetime.now(timezone.utc) - began).total_seconds(),
    )
    truth = replace(truth, torch=_torch_version())
    truth.write(folder.root)
    return truth


def _clean(folder: DrillFolder) -> None:
    """Remove what is no artifact."""
    for path in (folder.kit, folder.work):
        shutil.rmtree(path, ignore_errors=True)


def _torch_version() -> str | None:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None
