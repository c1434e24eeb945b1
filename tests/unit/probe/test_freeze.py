"""The signal that lets a frozen process write its stack never ends one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unhang.live.run_folder.layout import RunFolder
from unhang.probe import environment
from unhang.probe.freeze import SIGNAL

pytestmark = pytest.mark.process

LATE = """
import ctypes, sys
from unhang.probe.freeze import Freeze
freeze = Freeze(sys.argv[1])
freeze.beat(0.2)
print("ready", flush=True)
libc = ctypes.CDLL(None)
libc.on_exit(libc.sleep, None)  # sleeps for as many seconds as the exit code says, at the very end
sys.exit(3)
"""


def run_out(folder: Path) -> int:
    """End a process whose timer runs out while libraries shut down; return its exit code."""
    command = [sys.executable, "-c", LATE, str(folder / "stack.txt")]
    return subprocess.run(command, timeout=20, check=False, stdout=subprocess.DEVNULL).returncode


def test_a_timer_that_runs_out_after_the_interpreter_ends_nothing(tmp_path: Path) -> None:
    assert run_out(tmp_path) == 3


def test_what_is_started_inherits_no_ignored_signal(tmp_path: Path) -> None:
    code = LATE.partition("print")[0] + (
        "import subprocess\nsubprocess.run(['grep', 'SigIgn', '/proc/self/status'], check=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "stack.txt")],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored >> (SIGNAL - 1) & 1


@pytest.mark.parametrize("seed", range(3))
def test_an_end_at_any_moment_is_an_end_as_without_us(tmp_path: Path, seed: int) -> None:
    run = RunFolder(tmp_path / "run")
    run.make()
    environ = {"RANK": "0", "UNHANG_INTERVAL_S": "0.002", "PATH": "/usr/bin"}
    environ |= environment.additions(environ, run_folder=str(run.root))
    moments = random.Random(seed)
    for _ in range(8):
        pause_s = moments.uniform(0, 0.06)
        code = f"import sys, time; time.sleep({pause_s}); sys.exit(5)"
        process = subprocess.Popen([sys.executable, "-c", code], env=environ)
        # As the kernel's timer does when the process was stopped for a while.
        for _ in range(3):
            time.sleep(0.01)
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGCONT)
        assert process.wait(20) == 5
