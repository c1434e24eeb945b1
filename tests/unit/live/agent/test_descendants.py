"""Helpers of a rank are found among real processes, and what they use is told."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from unhang.live.agent import kernel
from unhang.live.agent.descendants import Descendants

pytestmark = pytest.mark.process

BURN = "import time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", PARENT], start_new_session=True)
    yield process
    with contextlib.suppress(ProcessLookupError):  # the test has ended all of them
        os.killpg(process.pid, 9)
    process.wait()


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


def test_a_helper_belongs_to_the_nearest_rank(parent: subprocess.Popen[bytes]) -> None:
    assert burnt_s(Descendants(), parent.pid, os.getpid())[os.getpid()] < 0.2


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
