"""Boards and `/proc` of real processes as reports."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unhang.live.agent import kernel
from unhang.live.agent.board_reader import BoardReader
from unhang.live.agent.own_overhead import OwnOverhead
from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import NodeReport, ProcessFacts
from unhang.probe.board import Board

pytestmark = pytest.mark.process

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a Python process that runs some code, and ends it after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def run(code: str = "import time; time.sleep(60)") -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", code]))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()


class Writer:
    """Stands for the probe of a process."""

    def __init__(self, folder: Path, pid: int, rank: int = 0, host: str = "here") -> None:
        self.board = Board(str(folder / f"{host}-{pid}.board"))
        self._beat = {"schema": 1, "host": host, "pid": pid, "rank": rank}

    def beat(self, mono: float | None = None, **more: object) -> None:
        now = time.monotonic() if mono is None else mono
        assert self.board.pin({**self._beat, "mono": now, "wall": time.time(), **more}, now)


def read(board_reader: BoardReader) -> NodeReport:
    return board_reader.read(launcher_alive=True)


def test_a_living_process(tmp_path: Path, start: Start) -> None:
    process = start("while True: pass")
    writer = Writer(tmp_path, process.pid, rank=3)
    writer.beat(steps=7)
    board_reader = BoardReader(tmp_path, "here")
    (report,) = read(board_reader).processes
    assert (report.beat.rank, report.beat.steps, report.beats) == (3, 7, 1)
    assert report.facts.alive
    assert report.facts.state in {"R", "S", "D"}
    assert 0 <= report.beat_age_s < 2
    assert board_reader.ranks == (process.pid,)
    assert board_reader.began_s == 0.0
    board_reader.close()


def test_the_first_report_of_a_process_tells_which_rank_has_started_it(tmp_path: Path) -> None:
    board_reader = BoardReader(tmp_path, "here")
    Writer(tmp_path, os.getpid()).beat()
    read(board_reader)
    sleeper = "import subprocess; subprocess.run(['sleep', '60'])"
    with subprocess.Popen([sys.executable, "-c", sleeper], start_new_session=True) as launcher:
        children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
        deadline = time.monotonic() + 15
        while not (told := children.read_text().split()) and time.monotonic() < deadline:
            time.sleep(0.02)
        inner = int(told[0])
        Writer(tmp_path, inner).beat()
        found = {p.beat.pid: p.facts.under for p in read(board_reader).processes}
        os.killpg(launcher.pid, signal.SIGKILL)
    board_reader.close()
    assert found == {os.getpid(): None, inner: os.getpid()}


def test_a_stopped_process_is_seen_stopped_and_its_beat_ages(tmp_path: Path, start: Start) -> None:
    process = start()
    now = [time.monotonic()]
    Writer(tmp_path, process.pid).beat(mono=now[0])
    board_reader = BoardReader(tmp_path, "here", clock=lambda: now[0])
    read(board_reader)
    os.kill(process.pid, signal.SIGSTOP)
    deadline = time.monotonic() + 10
    while read(board_reader).processes[0].facts.state != "T":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    now[0] += 5
    assert read(board_reader).processes[0].beat_age_s == pytest.approx(5, abs=0.01)
    board_reader.close()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import sys; sys.stdin.read(1); sys.exit(3)", (3, None)),
        ("import os,sys; sys.stdin.read(1); os.kill(os.getpid(), 9)", (None, 9)),
    ],
)
def test_the_end_of_somebody_elses_child_is_seen_before_it_is_reaped(
    code: str, expected: tuple[int | None, int | None], tmp_path: Path
) -> None:
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    Writer(tmp_path, process.pid).beat()
    board_reader = BoardReader(tmp_path, "here")
    read(board_reader)
    (handle,) = board_reader.handles
    assert process.stdin is not None
    process.stdin.close()
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    assert poller.poll(20_000)
    board_reader.look_at_ended(handle)
    facts = read(board_reader).processes[0].facts
    process.wait()
    assert not facts.alive
    assert (facts.exit_code, facts.signal) == expected
    assert read(board_reader).processes[0].facts == facts, "what is known stays known"
    assert board_reader.ranks == ()
    board_reader.close()


def test_how_it_ended_stays_unknown_when_nobody_tells(tmp_path: Path, start: Start) -> None:
    process = start()
    Writer(tmp_path, process.pid).beat()
    board_reader = BoardReader(tmp_path, "here")
    read(board_reader)
    process.kill()
    process.wait()
    facts = read(board_reader).processes[0].facts
    assert (facts.alive, facts.exit_code, facts.signal) == (False, None, None)
    board_reader.learn_exit(process.pid, signal.SIGKILL)
    assert read(board_reader).processes[0].facts.signal == signal.SIGKILL
    board_reader.close()


def test_the_last_call_of_a_process_outlives_it(tmp_path: Path, start: Start) -> None:
    process = start()
    writer = Writer(tmp_path, process.pid)
    writer.beat()
    board_reader = BoardReader(tmp_path, "here")
    read(board_reader)
    writer.board.note_call(7, b"barrier in f (t.py):3")
    assert read(board_reader).processes[0].facts.last_call is None
    process.kill()
    process.wait()
    facts = read(board_reader).processes[0].facts
    assert (facts.last_number, facts.last_call) == (7, "barrier in f (t.py):3")
    board_reader.close()


def test_a_number_that_was_given_to_another_process_is_not_the_old_one(
    tmp_path: Path, start: Start
) -> None:
    long_ago = time.monotonic() - 1000
    process = start()
    Writer(tmp_path, process.pid).beat(mono=long_ago)
    board_reader = BoardReader(tmp_path, "here")
    now = time.monotonic()
    read(board_reader)
    board_reader._clock = lambda: now + 30
    assert not read(board_reader).processes[0].facts.alive
    board_reader.close()


def test_a_clock_that_counts_from_elsewhere_does_not_age_a_beat(
    tmp_path: Path, start: Start
) -> None:
    process = start()
    writer = Writer(tmp_path, process.pid)
    writer.beat(mono=time.monotonic() + 1e6)
    board_reader = BoardReader(tmp_path, "here")
    assert read(board_reader).processes[0].beat_age_s < 2.5
    writer.beat(mono=time.monotonic() - 1e6)
    assert read(board_reader).processes[0].beat_age_s < 2.5
    board_reader.close()


def test_a_board_of_another_host_is_judged_by_its_beats(tmp_path: Path) -> None:
    Writer(tmp_path, 1, host="there").beat()
    board_reader = BoardReader(tmp_path, "here")
    assert read(board_reader).processes[0].facts == ProcessFacts(alive=True)
    assert board_reader.handles == ()


def test_the_second_start_of_a_job_knows_when_it_began(tmp_path: Path, start: Start) -> None:
    first = start()
    Writer(tmp_path, first.pid).beat(process_started=100.0)
    board_reader = BoardReader(tmp_path, "here")
    read(board_reader)
    first.kill()
    first.wait()
    second = start()
    Writer(tmp_path, second.pid).beat(process_started=200.0)
    read(board_reader)
    assert board_reader.began_s == pytest.approx(time.time(), abs=5)
    board_reader.close()


def test_boards_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "folder.board").mkdir()
    (tmp_path / "none.board").write_bytes(b"no board")
    nobody = Board(str(tmp_path / "nobody.board"))
    nobody.pin({"schema": 1}, 1.0)
    report = read(BoardReader(tmp_path, "here"))
    assert report.processes == ()
    assert report.lost == (
        Loss.of("board_unreadable", name="folder.board", why="Is a directory"),
        Loss.of("board_of_nobody", name="nobody.board"),
    )
    (unlisted,) = read(BoardReader(tmp_path / "gone", "here")).lost
    assert unlisted.code == "boards_unlisted"


def test_what_we_cause_ourselves_is_no_life() -> None:
    overhead = OwnOverhead()

    def shown(cpu_s: float, written: int, *, disturbed: bool, state: str = "S") -> ProcessFacts:
        facts = ProcessFacts(
            alive=True,
            state=state,
            cpu_s=cpu_s,
            write_bytes=written,
            main_delayed_s=cpu_s,
            helpers_delayed_s=cpu_s,
        )
        return overhead.correct(facts, disturbed=disturbed)

    assert shown(1.0, 10, disturbed=False).cpu_s == 1.0
    assert shown(1.5, 900, disturbed=True, state="t") == ProcessFacts(
        alive=True, state=None, cpu_s=1.0, write_bytes=10
    )
    after = shown(2.0, 1000, disturbed=False)
    assert (after.cpu_s, after.write_bytes) == (1.0, 10), "the rest of the dump"
    later = shown(2.25, 1004, disturbed=False)
    assert (later.cpu_s, later.write_bytes) == (1.25, 14), "its own life"


def test_processes_are_found_by_their_mark(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNHANG_TEST_MARK", f"of {os.getpid()}")
    process = start()
    ready_by = time.monotonic() + 20  # between `fork` and `exec` it has no environment of its own
    while process.pid not in kernel.marked("UNHANG_TEST_MARK", f"of {os.getpid()}"):
        assert time.monotonic() < ready_by
        time.sleep(0.01)
    assert process.pid not in kernel.marked("UNHANG_TEST_MARK", "of")
