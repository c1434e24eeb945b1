"""Faults of our own: training goes on, a hang is still named, and the record says what was lost."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from integration.launch import launched
from integration.shifted_clock import ShiftedClock
from integration.test_run_watched import (
    UNHANG,
    WORK,
    agent_of,
    environment,
    events_of,
    kinds_of,
    record_of,
    wait_for,
)

pytestmark = pytest.mark.integration

RANK = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}


def lost_in(folder: Path) -> dict[str, dict[str, Any]]:
    """What the record says was lost, by code."""
    return {loss["code"]: loss for loss in record_of(folder)["lost"]}


def run(folder: Path, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*UNHANG, "--out", str(folder), "--", *command],
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


ABORT = ("--on-hang", "abort", "--patience", "8")


@contextlib.contextmanager
def watched(folder: Path, *command: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """A run that ends its hangs; nothing of it is left when the block ends."""
    process = subprocess.Popen(
        [*UNHANG, "--out", str(folder), *ABORT, "--", *command],
        env=environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()  # the agent ends the job then
        process.communicate()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


FILL = """
import sys, time
for n in range(40): sys.stdout.write("x" * 99999 + "\\n")
sys.stdout.flush()
time.sleep(5)
print("trained")
"""


def test_a_full_disk_costs_the_books_and_the_record_says_which(small_disk: Path) -> None:
    folder = small_disk / "run"
    done = run(folder, sys.executable, "-c", FILL, **RANK)
    assert done.returncode == 0
    assert done.stdout.endswith("trained\n")
    assert len(done.stdout) == 40 * 100_000 + len("trained\n")
    record, lost = record_of(folder), lost_in(folder)
    assert (record["exit_code"], record["ended"] > record["started"]) == (0, True)
    assert "No space left on device" in lost["copies_failed"]["text"]
    # the heartbeat has moved to a disk with room, or to memory
    assert "heartbeat_unwritten" not in lost


WATCHED = """
import os, pathlib, shutil, time
own = pathlib.Path(os.environ["UNHANG_RUN"])
while not any(own.glob("agents/*.json")):
    time.sleep(0.1)
"""
REMOVE = "shutil.rmtree(own)"


def test_a_record_that_cannot_be_written_is_told_in_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = run(folder, sys.executable, "-c", f"{WATCHED}\n{REMOVE}\nprint('trained')")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert "unhang: run.json could not be brought up to date (No such file" in done.stderr
    assert "unhang: no training process was seen" in done.stderr


def test_two_runs_at_once_in_one_folder_are_two(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    runs = [
        subprocess.Popen(
            [*UNHANG, "--out", str(folder), "--", sys.executable, "-c", f"print({n})"],
            env=environment(**RANK),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for n in range(3)
    ]
    printed = [each.communicate(timeout=200)[0] for each in runs]
    assert printed == [b"0\n", b"1\n", b"2\n"]
    records = [record_of(place) for place in (folder, folder / "run-2", folder / "run-3")]
    assert {record["pid"] for record in records} == {each.pid for each in runs}
    assert all(record["exit_code"] == 0 for record in records)


HANG = """
import os, sys, time
{before}
import torch, torch.distributed as dist
{after}
dist.init_process_group("gloo")
for step in range(4):
    dist.all_reduce(torch.ones(10))
    time.sleep(0.2)
if dist.get_rank() == 1:
    time.sleep(3600)
dist.all_reduce(torch.ones(10))
"""

CLOSED = """
import ctypes, glob
ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE: nobody may look into this process
for path in glob.glob(os.environ["UNHANG_RUN"] + "/stacks/*"):
    with open(path, "wb") as file: file.write(b"\\xff\\x00 no stack" * 99)
"""


@pytest.fixture
def may_not_trace() -> list[str]:
    """How to start a command that must not look into others; only root needs more than nothing."""
    if os.geteuid() != 0:
        return []
    words = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    try:
        subprocess.run([*words, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("root can always look into processes here: there is no setpriv")
    return words


def test_without_recorder_and_debugger_a_hang_is_named_by_beats(
    tmp_path: Path, may_not_trace: list[str]
) -> None:
    folder, script = tmp_path / "run", tmp_path / "train.py"
    script.write_text(HANG.format(before=CLOSED, after=""))
    command = [*UNHANG, "--out", str(folder), *ABORT, "--", *launched(2, script)]
    done = subprocess.run(
        [*may_not_trace, *command],
        env=environment(TORCH_FR_BUFFER_SIZE="0"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 86, done.stderr
    (hang,) = [event for event in events_of(folder) if event["kind"] == "hang_confirmed"]
    assert hang["culprits"] == [1]
    expected = {"probe_recorder_off": "TORCH_FR_BUFFER_SIZE=0", "stacks_untaken": "CAP_SYS_PTRACE"}
    for code, words in expected.items():
        loss = lost_in(folder)[code]
        assert loss["ranks"] == "0-1"
        assert loss["text"].startswith("ranks 0-1: ")
        assert words in loss["text"]


TRIES = """
try: import torch
except ImportError: print("no torch")
"""


def test_without_torch_the_record_says_what_nobody_could_see(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "torch.py").write_text("raise ImportError('libcudart.so.12: cannot open')")
    folder = tmp_path / "run"
    code = f"{TRIES}\n{WORK.replace('print(n, flush=True); ', '')}"
    command = (sys.executable, "-c", code, "attached", str(folder))
    done = run(folder, *command, **RANK, PYTHONPATH=str(broken))
    assert (done.returncode, done.stdout) == (0, "no torch\n")
    loss = lost_in(folder)["no_torch"]
    assert loss["ranks"] == "0"
    assert "who waits for whom cannot be told" in loss["text"]


OLD = """
from torch._C import _distributed_c10d as native  # played: torch as it was before the recorder
for name in [name for name in dir(native) if name.startswith("_dump_")]: delattr(native, name)
"""


STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def test_an_agent_that_dies_while_it_ends_a_hang_has_a_successor(tmp_path: Path) -> None:
    folder, script = tmp_path / "run", tmp_path / "train.py"
    script.write_text(HANG.format(before=STUBBORN, after=OLD))
    with watched(folder, *launched(2, script)) as process:
        wait_for(lambda: "hang_confirmed" in kinds_of(folder))
        wait_for(lambda: any(folder.glob("captures/*/")))
        os.kill(agent_of(folder), signal.SIGKILL)  # while it captures
        wait_for(lambda: "aborted" in kinds_of(folder))
        os.kill(agent_of(folder), signal.SIGKILL)  # while it ends the ranks, which do not want to
        assert process.wait(200) == 86
    assert kinds_of(folder).count("aborted") == 1, "the third one goes on with what was begun"
    hangs = [event["culprits"] for event in events_of(folder) if event["kind"] == "hang_confirmed"]
    assert all(culprits == [1] for culprits in hangs)
    lost = lost_in(folder)
    assert "agent_died" in lost
    assert "bundle_interrupted" in lost
    assert lost["probe_recorder_absent"]["ranks"] == "0-1"
    assert "has no Flight Recorder" in lost["probe_recorder_absent"]["text"]


SAVES = """
import os, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
def save_checkpoint(number):
    print("saving", number, flush=True)
    end = time.monotonic() + 5
    while time.monotonic() < end:
        torch.ones(300, 300) @ torch.ones(300, 300)
for step in range(9):
    if rank == 0 and step in (3, 6):
        save_checkpoint(step)
    dist.all_reduce(torch.ones(10))
    time.sleep(0.2)
if rank == 1:
    time.sleep(3600)
dist.all_reduce(torch.ones(10))
"""


def test_a_clock_that_jumps_makes_no_hang_and_hides_none(tmp_path: Path) -> None:
    try:
        clock = ShiftedClock(tmp_path)
    except FileNotFoundError:
        pytest.skip("no C compiler is here to make the clock with")
    folder, script = tmp_path / "run", tmp_path / "train.py"
    script.write_text(SAVES)
    began, begun_s = datetime.now(timezone.utc), time.monotonic()
    with watched(folder, *launched(2, script), **clock.environment) as process:
        assert process.stdout is not None
        for mark, seconds in (("saving 3", 3600), ("saving 6", -3600)):
            assert any(line.startswith(mark) for line in process.stdout)
            time.sleep(2)
            clock.shift(seconds)
        process.stdout.read()
        assert process.wait(200) == 86
        took = timedelta(seconds=time.monotonic() - begun_s)
    hangs = [event for event in events_of(folder) if event["kind"] == "hang_confirmed"]
    assert [hang["culprits"] for hang in hangs] == [[1]], "once, and in no save"
    jumps = [loss for loss in record_of(folder)["lost"] if loss["code"] == "clock_jumped"]
    assert [loss["values"]["by"] for loss in jumps] == pytest.approx([3600, -7200], abs=2)
    assert "jumped by 1 h at " in jumps[0]["text"]
    record = record_of(folder)
    times = [record["started"], *(event["at"] for event in events_of(folder)), record["ended"]]
    assert times == sorted(times)
    ended = datetime.fromisoformat(record["ended"])
    assert timedelta(0) < ended - began <= took, "no jump is in the record"
    assert timedelta(seconds=record["elapsed_s"]) <= ended - began
