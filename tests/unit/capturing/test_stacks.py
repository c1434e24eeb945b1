"""Stacks of real processes, and what is said where they cannot be had."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.source_contexts import READY, context, events_of, may_trace, ours, started, take
from unhang.capturing.bounded import Ran
from unhang.capturing.deadline import Deadline
from unhang.capturing.processes import JobProcess, ProcessRole
from unhang.capturing.source_context import Stop
from unhang.capturing.specs import stacks
from unhang.model.capture import Fate
from unhang.model.events import Event, StackKind, ThreadStack
from unhang.model.ids import Rank

pytestmark = pytest.mark.process

SLEEPER = f"{READY}def save_alone():\n    time.sleep(60)\nsave_alone()"
PY_SPY = Path(sys.executable).parent / "py-spy"

needs_py_spy = pytest.mark.skipif(not may_trace(), reason="py-spy is not there, or not let")
needs_gdb = pytest.mark.skipif(
    not may_trace() or shutil.which("gdb") is None, reason="gdb is not there, or not let"
)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies between two looks is of no matter here."""
    monkeypatch.setattr(stacks, "_BETWEEN_S", 0.05)


def functions(events: list[Event], kind: StackKind) -> set[str]:
    stacks_of_kind = [e for e in events if isinstance(e, ThreadStack) and e.kind is kind]
    return {frame.function for stack in stacks_of_kind for frame in stack.frames}


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "stacks.txt"
    path.write_bytes(data)
    return path


@needs_py_spy
def test_py_spy_tells_where_a_rank_stands(tmp_path: Path) -> None:
    with started(SLEEPER) as process:
        told = take(stacks.SPEC, context(process))
    assert list(told) == ["stacks.txt"]
    events = events_of(written(tmp_path, told["stacks.txt"]), "rank_3/stacks.txt")
    assert "save_alone" in functions(events, StackKind.PYTHON)
    assert {event.origin.rank for event in events} == {3}


@needs_py_spy
def test_loaders_stand_in_the_file_of_their_rank() -> None:
    with started(SLEEPER) as process, started(SLEEPER.replace("save", "fetch")) as below:
        loader = JobProcess(
            pid=below.pid,
            parent=process.pid,
            state="S",
            name="python",
            started_s=0.0,
            role=ProcessRole.LOADER,
        )
        told = take(stacks.SPEC, context(process, loader))["stacks.txt"].decode()
    assert told.index("fetch_alone") < told.index("save_alone")
    assert f"Process {loader.pid}: " in told


@needs_gdb
def test_gdb_is_asked_where_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "unhang.capturing.source_context.find_program",
        lambda name: shutil.which("gdb") if name == "gdb" else None,
    )
    with started(SLEEPER) as process:
        told = take(stacks.SPEC, context(process))
        pid = process.pid
    assert list(told) == ["gdb.txt"]
    events = events_of(written(tmp_path, told["gdb.txt"]), "rank_3/gdb.txt")
    assert any("sleep" in name for name in functions(events, StackKind.NATIVE))
    assert {e.origin.pid for e in events if isinstance(e, ThreadStack)} == {pid}


def test_without_any_tool_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unhang.capturing.source_context.find_program", lambda _: None)
    with pytest.raises(Stop) as stop:
        take(stacks.SPEC, context(ours()))
    assert stop.value.fate is Fate.ABSENT
    assert stop.value.why.values == {"program": "py-spy"}


def test_a_process_in_state_d_is_left_alone() -> None:
    """The parent of a vfork waits in the kernel: the only state D that a test can have."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    program = (
        b"#include <unistd.h>\n"
        b"int main(void) { if (vfork() == 0) { sleep(60); _exit(0); } return 0; }\n"
    )
    binary = f"/tmp/unhang-test-vfork-{os.getpid()}"
    subprocess.run([compiler, "-x", "c", "-", "-o", binary], input=program, check=True)
    child = subprocess.Popen([binary], start_new_session=True)
    try:
        state = ""
        for _ in range(100):
            state = Path(f"/proc/{child.pid}/stat").read_text().split()[2]
            if state == "D":
                break
            time.sleep(0.05)
        assert state == "D"
        process = JobProcess(pid=child.pid, parent=1, state=state, name="x", started_s=0.0)
        with pytest.raises(Stop) as stop:
            take(stacks.SPEC, context(process))
        assert stop.value.why.key == "capture.why.uninterruptible"
    finally:
        os.killpg(child.pid, 9)
        child.wait()
        Path(binary).unlink()


@needs_py_spy
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_who_may_not_look_is_told_what_it_needs(tmp_path: Path) -> None:
    copy = Path(shutil.copy(PY_SPY, f"/tmp/unhang-test-py-spy-{os.getpid()}"))
    try:
        copy.chmod(0o755)
        with started(SLEEPER) as process:
            words = [str(copy), "dump", "--pid", str(process.pid)]
            done = subprocess.run(
                words, capture_output=True, user=65534, group=65534, timeout=60, check=False
            )
            ran = Ran(code=done.returncode, out=done.stdout, err=done.stderr.decode())
            stop = stacks._failed("py-spy", ran, context(process))
        assert (stop.fate, stop.why.key) == (Fate.REFUSED, "capture.why.ptrace")
    finally:
        copy.unlink()


@needs_py_spy
def test_what_is_no_python_is_said_so() -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        process = JobProcess(pid=child.pid, parent=1, state="S", name="sleep", started_s=0.0)
        ran = Ran(code=1, out=b"", err="Error: Failed to find python version\n\n 10: main")
        stop = stacks._failed("py-spy", ran, context(process))
        assert stop.why.values["text"] == "Error: Failed to find python version"
    finally:
        child.kill()
        child.wait()
    gone = stacks._failed("py-spy", ran, context(process))
    assert gone.why.key == "capture.why.ended"


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def await_state(pid: int, states: str) -> str:
    for _ in range(200):
        if state_of(pid) in states:
            break
        time.sleep(0.02)
    return state_of(pid)


def test_a_process_that_a_tool_left_stopped_goes_on() -> None:
    with started(SLEEPER) as process:
        with stacks.going_on(process.pid):
            os.kill(process.pid, signal.SIGSTOP)
            assert await_state(process.pid, "T") == "T"
        assert await_state(process.pid, "SR") in "SR"


@needs_py_spy
def test_a_stopped_rank_is_read_and_stays_stopped() -> None:
    with started(SLEEPER) as process:
        os.kill(process.pid, signal.SIGSTOP)
        assert await_state(process.pid, "T") == "T"
        told = take(stacks.SPEC, context(process))["stacks.txt"]
        time.sleep(0.2)
        assert b"save_alone" in told
        assert state_of(process.pid) == "T"


def test_a_process_that_was_stopped_before_stays_so() -> None:
    with started(SLEEPER) as process:
        os.kill(process.pid, signal.SIGSTOP)
        assert await_state(process.pid, "T") == "T"
        with stacks.going_on(process.pid):
            pass
        time.sleep(0.2)
        assert state_of(process.pid) == "T"
        os.kill(process.pid, signal.SIGCONT)


def in_haste(*suspects: int) -> Deadline:
    return Deadline(release=lambda: None, suspects=frozenset(map(Rank, suspects)))


@needs_py_spy
@pytest.mark.parametrize(("suspect", "looks"), [(3, 2), (7, 1)])
def test_in_haste_only_a_suspect_gives_native_frames(
    tmp_path: Path, suspect: int, looks: int
) -> None:
    """A look at a rank is one header; the program is that of rank 3."""
    with started(SLEEPER) as process:
        told = take(stacks.SPEC, context(process, deadline=in_haste(suspect)))["stacks.txt"]
    assert told.count(b"Process %d: " % process.pid) == looks
    events = events_of(written(tmp_path, told), "rank_3/stacks.txt")
    assert "save_alone" in functions(events, StackKind.PYTHON)
    is_native = b"libc" in told
    assert is_native == (suspect == 3)


@needs_gdb
@pytest.mark.parametrize(("suspect", "names"), [(3, ["gdb.txt"]), (7, [])])
def test_in_haste_gdb_is_for_suspects(
    monkeypatch: pytest.MonkeyPatch, suspect: int, names: list[str]
) -> None:
    monkeypatch.setattr(
        "unhang.capturing.source_context.find_program",
        lambda name: shutil.which("gdb") if name == "gdb" else None,
    )
    told: dict[str, bytes] = {}
    with started(SLEEPER) as process, contextlib.suppress(Stop):
        told = take(stacks.SPEC, context(process, deadline=in_haste(suspect)))
    assert list(told) == names
