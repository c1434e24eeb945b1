"""What `/proc` says of real processes: threads, bytes, locks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from unhang.live.agent import kernel

WAITS = "import fcntl, sys; print(1, flush=True); fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX)"


@pytest.mark.process
def test_the_holder_of_a_lock_is_told_of_who_waits_for_it(tmp_path: Path) -> None:
    import fcntl

    path = tmp_path / "lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [sys.executable, "-c", WAITS, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as waiter:
            assert waiter.stdout is not None
            waiter.stdout.readline()
            deadline = time.monotonic() + 10
            while kernel.lock_holder(waiter.pid) is None and time.monotonic() < deadline:
                time.sleep(0.05)
            try:
                assert kernel.lock_holder(waiter.pid) == os.getpid()
                stat = kernel.read_stat(waiter.pid)
                assert stat is not None
                assert kernel.facts_of(waiter.pid, stat).lock_holder in {os.getpid(), None}
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)
    assert kernel.lock_holder(os.getpid()) is None


def test_threads_and_what_they_use_are_told() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    assert thread.native_id in kernel.threads_of(os.getpid())
    runs = kernel.runs_of(os.getpid(), thread.native_id)
    over.set()
    thread.join()
    assert runs is None or (runs.used_s >= 0 and runs.delayed_s >= 0)


@pytest.mark.process
def test_of_a_process_that_is_gone_nothing_is_told() -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    assert kernel.bytes_of(done.pid) is None
    assert kernel.threads_of(done.pid) == []
    assert kernel.read_stat(done.pid) is None
