"""Launchers of drills: what they print is sorted by rank, and nothing of theirs lives on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from unhang.errors import UsageError
from unhang.lab import leftovers
from unhang.lab.drills import DRILLS, find_drill
from unhang.lab.folder import DrillFolder
from unhang.lab.job import Console, Launcher, end_processes, is_alive, marked_processes
from unhang.lab.launching import job_environment
from unhang.lab.leftovers import LeftBehind
from unhang.lab.machine import require
from unhang.lab.messages import tell_drills
from unhang.lab.running import run_drill

pytestmark = pytest.mark.process

PRINTING = """
print("[default1]:from rank 1")
print("E1121 the launcher's own line")
print("[default0]:[rank0] from rank 0")
"""


def wait_for(fact: Callable[[], bool]) -> bool:
    """Whether it becomes true within seconds: a process just started shows no environment."""
    end = time.monotonic() + 10
    while time.monotonic() < end and not fact():
        time.sleep(0.02)
    return fact()


def launch(logs: Path, code: str, *, nodes: int = 1, node: int = 0) -> int:
    console = Console(logs, nodes=nodes, per_node=2)
    command = [sys.executable, "-c", code]
    launcher = Launcher(command, environment=os.environ, folder=logs, logs=console, node=node)
    end = time.monotonic() + 20
    while not launcher.ended() and time.monotonic() < end:
        time.sleep(0.01)
    exit_code = launcher.close()
    console.close()
    return exit_code


def test_lines_are_sorted_by_the_rank_that_the_launcher_puts_before_them(tmp_path: Path) -> None:
    assert launch(tmp_path, PRINTING) == 0
    assert (tmp_path / "rank_1.log").read_text("utf-8") == "from rank 1\n"
    assert (tmp_path / "rank_0.log").read_text("utf-8") == "[rank0] from rank 0\n"
    assert len((tmp_path / "merged.log").read_text("utf-8").splitlines()) == 3


def test_the_ranks_of_the_second_node_follow_those_of_the_first(tmp_path: Path) -> None:
    launch(tmp_path, PRINTING, nodes=2, node=1)
    assert (tmp_path / "rank_3.log").read_text("utf-8") == "from rank 1\n"
    assert (tmp_path / "merged.log").read_text("utf-8").startswith("node-1: [default1]:")


def test_the_exit_code_of_the_launcher_is_kept(tmp_path: Path) -> None:
    assert launch(tmp_path, "raise SystemExit(3)") == 3


def test_a_launcher_that_does_not_exist_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'no-such-launcher' cannot be started"):
        run_drill(find_drill("sleep"), tmp_path / "drill", command=("no-such-launcher", "x.py"))
    assert not (tmp_path / "drill" / "kit").exists()


def test_all_that_carries_the_mark_is_ended_and_nobody_else() -> None:
    mark = f"drill-{os.getpid()}"
    ours = subprocess.Popen(
        ["sleep", "60"], env={**os.environ, "UNHANG_TEST": mark}, start_new_session=True
    )
    other = subprocess.Popen(["sleep", "60"], env={**os.environ, "UNHANG_TEST": mark + "-2"})
    try:
        assert wait_for(lambda: list(marked_processes("UNHANG_TEST", mark)) == [ours.pid])
        end_processes("UNHANG_TEST", mark)
        assert ours.wait(5) == -9
        assert is_alive(other.pid)
    finally:
        for process in (ours, other):
            process.kill()
            process.wait()


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="is not empty"):
        run_drill(find_drill("sleep"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_machine_without_root_refuses_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UsageError, match="needs network namespaces, found none; run it as root"):
        require(find_drill("cut-link"))
    assert "needs network namespaces (not here)" in tell_drills(DRILLS, "terminal")


def test_the_environment_adds_to_what_the_user_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/mine")
    found = job_environment(find_drill("sleep"), DrillFolder(tmp_path), 8.0)
    assert found["PYTHONPATH"].split(os.pathsep)[-1] == "/mine"
    assert (Path(found["PYTHONPATH"].split(os.pathsep)[0]) / "sitecustomize.py").exists()


def test_what_is_left_behind_is_seen(tmp_path: Path) -> None:
    environment = {**os.environ, "UNHANG_DRILL": str(tmp_path.resolve() / "one")}
    with LeftBehind(tmp_path) as left:
        assert left.names() == []
        with subprocess.Popen(["sleep", "60"], env=environment) as process:
            assert wait_for(lambda: left.names() == [f"process {process.pid}"])
            process.kill()
    assert left.names() == []


HOLDS = """
import mmap, os, time
name = f"/dev/shm/{os.environ['NAME']}"
with open(name, "wb+") as file:
    file.truncate(4096)
    held = mmap.mmap(file.fileno(), 4096)
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no shared memory on this machine")
def test_shared_memory_of_a_drill_is_told_from_what_others_leave(tmp_path: Path) -> None:
    names = [f"unhang_test_{who}_{tmp_path.name}" for who in ("ours", "theirs")]
    marks = (tmp_path.resolve(), tmp_path.resolve().parent / "beside")
    with LeftBehind(tmp_path) as left:
        jobs = [
            subprocess.Popen(
                [sys.executable, "-c", HOLDS],
                env={**os.environ, "NAME": name, "UNHANG_DRILL": str(mark)},
            )
            for name, mark in zip(names, marks, strict=True)
        ]
        try:
            assert wait_for(lambda: any(n.startswith("shared memory") for n in left.names()))
            assert wait_for(Path("/dev/shm", names[1]).exists)
        finally:
            for job in jobs:
                job.kill()
                job.wait()
    try:
        assert left.names() == [f"shared memory {names[0]}"]
    finally:
        for name in names:
            Path("/dev/shm", name).unlink()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_who_ends_a_drill_leaves_no_job_behind(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "drill"
    code = "import time; print('begun', flush=True); time.sleep(60)"
    command = ("-m", "unhang", "drill", "run", "sleep", "--out", str(folder), "--")
    drill = subprocess.Popen(
        [sys.executable, *command, sys.executable, "-c", code],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A test run in the background (or under nohup) hands down that some signals are ignored.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 (no threads here)
    )
    try:
        log = folder / "logs" / "merged.log"
        assert wait_for(lambda: log.exists() and "begun" in log.read_text("utf-8"))
        with LeftBehind(folder) as left:
            drill.send_signal(number)
            assert drill.wait(60) != 0
    finally:
        drill.kill()
        drill.wait()
    assert left.names() == []
    assert not (folder / "kit").exists()


def test_a_namespace_of_a_drill_that_runs_beside_is_not_left_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    with subprocess.Popen(["sleep", "60"]) as other, LeftBehind(tmp_path) as left:
        made = [f"unhang-{number}-0" for number in (other.pid, gone.pid, os.getpid())]
        monkeypatch.setattr(leftovers, "namespaces", lambda: made)
        found = left.names()
        other.kill()
    assert found == [f"namespace {made[-1]}"]
