"""The signal that lets a frozen process write its stack never ends one."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unhang.live.agent import kernel
from unhang.live.agent.board_reader import BoardReader
from unhang.live.run_folder.layout import RunFolder
from unhang.probe import environment
from unhang.probe.freeze import SIGNAL

pytestmark = pytest.mark.process

LATE = """
import ctypes, sys
from unhang.probe.freeze import Freeze
freeze = Freeze(sys.argv[1])
print("ready", flush=True)
libc = ctypes.CDLL(None)
libc.on_exit(libc.sleep, None)  # sleeps for as many seconds as the exit code says, at the very end
sys.exit(3)
"""


def run_out(folder: Path) -> int:
    """End a process that is signalled while libraries shut down; return its exit code."""
    command = [sys.executable, "-c", LATE, str(folder / "stack.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()  # to the end of the interpreter, which closes it
        process.send_signal(SIGNAL)
        return process.wait(20)


def test_a_signal_that_comes_after_the_interpreter_ends_nothing(tmp_path: Path) -> None:
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
        for _ in range(30):
            time.sleep(0.001)
            kernel.send_if_caught(process.pid, SIGNAL)
        assert process.wait(20) == 5


def frozen(folder: Path, code: str) -> tuple[subprocess.Popen[bytes], BoardReader, RunFolder]:
    """A watched process that is about to keep the interpreter lock, and who looks at it."""
    run = RunFolder(folder / "run")
    run.make()
    environ = {"RANK": "0", "UNHANG_INTERVAL_S": "0.05", "PATH": "/usr/bin"}
    environ |= environment.additions(environ, run_folder=str(run.root), host="here")
    process = subprocess.Popen([sys.executable, "-c", code], env=environ)
    return process, BoardReader(run.boards, "here"), run


def test_a_sleep_that_keeps_the_interpreter_lock_is_not_cut_short(tmp_path: Path) -> None:
    code = "import ctypes, sys, time; time.sleep(0.5); sys.exit(ctypes.PyDLL(None).sleep(3))"
    process, reader, _ = frozen(tmp_path, code)
    while process.poll() is None:
        reader.read(launcher_alive=True)
        time.sleep(0.05)
    assert process.wait() == 0, "so many seconds were left"


def test_a_thread_that_computes_with_the_interpreter_lock_leaves_its_stack(tmp_path: Path) -> None:
    code = "import re, time; time.sleep(0.5)\nre.match('(a+)+$', 'a' * 40 + 'b')"
    process, reader, run = frozen(tmp_path, code)
    try:
        end_s = time.monotonic() + 30
        while not any(path.read_text() for path in run.stacks.iterdir()):
            assert time.monotonic() < end_s
            reader.read(launcher_alive=True)
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    assert "line 2 in <module>" in next(run.stacks.iterdir()).read_text()
