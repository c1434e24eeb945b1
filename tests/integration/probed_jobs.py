"""Starts real jobs with a probe in each process, as the agent would, and reads what they leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from unhang.live.messages.reports import Beat
from unhang.live.messages.wire import beat_from_json
from unhang.live.run_folder.layout import RunFolder
from unhang.probe import board, environment

HOST = "here"
T = TypeVar("T")


class Run:
    """A run folder with a stand-in for the agent: the test writes what the agent would."""

    def __init__(self, root: Path) -> None:
        self.folder = RunFolder(root)
        self.folder.make()
        self._beat = 0

    def heart(self, *, judge: bool = True) -> None:
        """One beat of the agent."""
        self._beat += 1
        self._replace(self.folder.agent(HOST), {"beat": self._beat, "judge": judge, "wall": 0})

    def order(self, number: int) -> Path:
        """Order a dump; return its folder."""
        folder = self.folder.dump(number)
        wanted = {"seq": number, "dump": {"id": number, "dir": str(folder)}, "timeouts": None}
        self._replace(self.folder.orders(HOST), wanted)
        return folder

    def beats(self) -> dict[int | None, Beat]:
        """The last beat of each rank; one without a rank stands under None."""
        found: dict[int | None, Beat] = {}
        for path in sorted(self.folder.boards.iterdir()):
            pinned = board.read(str(path))
            beat = None if pinned is None else beat_from_json(pinned.beat)
            if beat is not None:
                found[beat.rank] = beat
        return found

    def _replace(self, path: Path, content: Mapping[str, Any]) -> None:
        part = path.with_suffix(".part")
        part.write_text(json.dumps(content), encoding="utf-8")
        part.replace(path)


@contextmanager
def job(
    run: Run, *command: str, timeouts: str = "keep", environ: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A Python command under the probe; it is gone with all its children when the block ends."""
    base = {"OMP_NUM_THREADS": "1", **os.environ, **(environ or {})}
    added = environment.additions(
        base, run_folder=str(run.folder.root), host=HOST, timeouts=timeouts
    )
    process = subprocess.Popen(
        [sys.executable, *command],
        env={**base, **added},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        for signal in (15, 9):
            if process.poll() is None:
                os.killpg(process.pid, signal)
                with_patience(process)
        process.communicate()


def with_patience(process: subprocess.Popen[str]) -> None:
    """Give a process ten seconds to end."""
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        return


def torchrun(ranks: int, script: Path, *arguments: str) -> tuple[str, ...]:
    """The launcher, with a port of its own."""
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks))
    return (*launcher, str(script), *arguments)


def until(look: Callable[[], T | None], *, within_s: float) -> T:
    """Look until there is something to see."""
    end = time.monotonic() + within_s
    while True:
        seen = look()
        if seen is not None and seen is not False:
            return seen
        if time.monotonic() > end:
            raise AssertionError(f"not seen within {within_s:g} s")
        time.sleep(0.1)
