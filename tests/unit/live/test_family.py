"""Helpers of a rank are found among real processes, and what they use is told."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from unhang.live.family import Families

BURN = "import time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", PARENT], start_new_session=True)
    yield process
    os.killpg(process.pid, 9)
    process.wait()


def test_what_a_helper_uses_is_told_of_its_rank(parent: subprocess.Popen[bytes]) -> None:
    families = Families(time.monotonic)
    deadline = time.monotonic() + 15
    used_s = 0.0
    while used_s < 0.2 and time.monotonic() < deadline:
        families.next_s = 0.0
        used_s = families.look([parent.pid])[parent.pid]
    assert used_s >= 0.2


def test_a_rank_is_no_helper_of_another(parent: subprocess.Popen[bytes]) -> None:
    told = Families(time.monotonic).look([parent.pid, os.getpid()])
    assert told[os.getpid()] < 0.2  # its only child of use is a rank by itself


def test_looking_is_paid_for_by_looking_less_often() -> None:
    times = iter([0.0, 0.1, 5.0, 19.0, 20.5, 20.6])
    families = Families(lambda: next(times))
    first = families.look([os.getpid()])
    assert families.look([1]) is first
    assert families.look([1]) is first
    assert families.look([1]) is not first
