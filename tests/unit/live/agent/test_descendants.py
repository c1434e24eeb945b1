"""Helpers of a rank are found among real processes, and what they use is told."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from unhang.live.agent import kernel
from unhang.live.agent.descendants import Descendants

pytestmark = pytest.mark.process

BURN = "import time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"
RUN = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}])"
PARENT = RUN.format(BURN)


@contextlib.contextmanager
def running(program: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # the test has ended all of them
            os.killpg(process.pid, 9)
        process.wait()


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    with running(PARENT) as process:
        yield process


def child_of(pid: int) -> int:
    """The one child of a process, once it has one."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        if children:
            return int(children[0])
        time.sleep(0.05)
    raise AssertionError("no child was started")


def burnt_s(families: Descendants, *ranks: int) -> dict[int, float]:
    """What is told once the helper has used some time."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        used_s = {rank: told.used_s for rank, told in families.look(dict.fromkeys(ranks)).items()}
        if used_s[ranks[0]] >= 0.2:
            return used_s
        time.sleep(0.05)
    raise AssertionError("the helper was not seen to use anything")


def test_what_a_helper_uses_is_told_of_its_rank(parent: subprocess.Popen[bytes]) -> None:
    assert burnt_s(Descendants(), parent.pid)[parent.pid] >= 0.2


def test_a_helper_belongs_to_the_nearest_rank() -> None:
    with running(RUN.format(PARENT)) as outer:
        assert burnt_s(Descendants(), child_of(outer.pid), outer.pid)[outer.pid] == 0


def test_a_process_that_is_gone_is_forgotten(parent: subprocess.Popen[bytes]) -> None:
    families = Descendants()
    burnt_s(families, parent.pid)
    os.killpg(parent.pid, 9)
    parent.wait()
    assert families.look({os.getpid(): None})
    assert parent.pid not in families.owners


def test_a_later_look_asks_only_for_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    families = Descendants()
    families.look({os.getpid(): None})
    asked: list[int] = []

    def read_stat(pid: int) -> kernel.Stat | None:
        asked.append(pid)
        return None

    monkeypatch.setattr(kernel, "read_stat", read_stat)
    with subprocess.Popen(["sleep", "0.2"]) as new:
        families.look({os.getpid(): None})
        assert new.pid in asked
    assert 1 not in asked
