"""Who asks a rank for its stacks while it ends does not end it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from unhang.lab.faults.declared import STACK_SIGNAL

pytestmark = pytest.mark.process

LATE = """
import ctypes, sys
from unhang.lab.faults.witness import FaultWitness
FaultWitness(sys.argv[1]).register(0)
print("ready", flush=True)
libc = ctypes.CDLL(None)
libc.on_exit(libc.sleep, None)  # sleeps for as many seconds as the exit code says, at the very end
sys.exit(2)
"""


def test_a_late_question_for_stacks_harms_nobody(tmp_path: Path) -> None:
    rank = subprocess.Popen([sys.executable, "-c", LATE, str(tmp_path)], stdout=subprocess.PIPE)
    assert rank.stdout is not None
    assert rank.stdout.readline() == b"ready\n"
    rank.stdout.close()
    time.sleep(1)
    rank.send_signal(STACK_SIGNAL)
    assert rank.wait(20) == 2
