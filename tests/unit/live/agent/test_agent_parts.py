"""What the agent does things with: orders, the end of a job, the books, the verdict, the hooks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unhang.live.agent import interim_diagnosis
from unhang.live.agent.hooks import Hooks
from unhang.live.agent.orders import OrderWriter
from unhang.live.agent.termination import Termination
from unhang.live.messages.actions import Note, NoteKind, SetTimeouts
from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.live.messages.losses import Loss
from unhang.live.messages.request import RunRequest
from unhang.live.run_folder import local_scratch
from unhang.live.run_folder.clock import RunClock
from unhang.live.run_folder.events_log import event_of
from unhang.live.run_folder.history import read
from unhang.live.run_folder.journal import RunJournal
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.record import begin, write_json
from unhang.live.run_folder.writer import RunWriter
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.waits import CallRef

NOTE = Note(
    kind=NoteKind.HANG_CONFIRMED,
    ranks=frozenset(map(Rank, (0, 2, 3))),
    culprits=frozenset({Rank(1)}),
    phase=Phase.SAVE,
    call=CallRef(group="0", description="default_pg", seq=7, op="all_reduce"),
    since_s=4.23456,
    why=Message(key="run.leftover", values={"pids": "1"}),
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.make()
    return made


def request_of(folder: RunFolder, **more: object) -> RunRequest:
    fields: dict[str, object] = {"command": ("true",), "root": folder.root, "near": folder.root}
    return RunRequest(host="here", **(fields | more))  # type: ignore[arg-type]


def wait_for(condition: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def orders_in(folder: RunFolder) -> dict[str, object]:
    data = json.loads(folder.orders("here").read_text())
    assert isinstance(data, dict)
    return data


def test_orders_as_the_probes_read_them(folder: RunFolder, tmp_path: Path) -> None:
    local = RunFolder(tmp_path / "near")
    local.make()
    orders = OrderWriter(local, folder, "here")
    orders.beat(judged=True)
    orders.beat(judged=False)
    beat = json.loads(local.agent("here").read_text())
    assert (beat["beat"], beat["judge"]) == (2, False)
    orders.set_timeouts(SetTimeouts(mode="judge", limit_ms=5000))
    assert orders_in(local)["timeouts"] == {"mode": "judge", "limit_ms": 5000}
    orders.order_dump(3, [11, 12], now=100.0)
    assert orders_in(local)["dump"] == {"id": 3, "dir": str(folder.dump(3))}
    assert orders_in(local)["timeouts"] == {"mode": "judge", "limit_ms": 5000}


def test_dumps_are_ready_when_all_are_there_or_time_is_over(folder: RunFolder) -> None:
    orders = OrderWriter(folder, folder, "here")
    assert orders.take_ready(0.0) is None
    orders.order_dump(1, [11, 12], now=100.0)
    (folder.dump(1) / "done_here-11").touch()
    assert orders.take_ready(100.5) is None
    assert orders.awaits
    (folder.dump(1) / "done_here-12").touch()
    assert orders.take_ready(101.0) == 1
    assert orders.take_ready(102.0) is None, "once"
    orders.order_dump(2, [11], now=200.0)
    assert orders.take_ready(230.0) == 2, "a frozen process does not answer"
    orders.order_dump(3, [11], now=300.0)
    (folder.dump(3) / "done_brief_here-11").touch()
    assert orders.take_ready(301.0) is None, "the stacks of its calls are on their way"
    assert orders.take_ready(302.5) == 3, "its calls are there"
    assert orders.serving(310.0) == {11}
    assert orders.serving(400.0) == frozenset(), "whatever keeps it, it is no dump"
    (folder.dump(3) / "done_here-11").touch()
    assert orders.serving(310.0) == frozenset()


DEAF = (
    "import signal,time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)


@pytest.fixture
def deaf() -> Iterator[subprocess.Popen[bytes]]:
    """A process that ignores SIGTERM."""
    process = subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.process
def test_nobody_waits_for_the_dumps_of_a_stopped_process(
    folder: RunFolder, deaf: subprocess.Popen[bytes]
) -> None:
    orders = OrderWriter(folder, folder, "here")
    orders.order_dump(1, [11, deaf.pid], now=100.0)
    (folder.dump(1) / "done_here-11").touch()
    assert orders.take_ready(100.1) is None
    deaf.send_signal(signal.SIGSTOP)
    wait_for(lambda: orders.take_ready(100.2) == 1)


@pytest.mark.process
def test_a_stopped_rank_that_ignores_sigterm_is_killed_in_the_end(
    deaf: subprocess.Popen[bytes],
) -> None:
    os.kill(deaf.pid, signal.SIGSTOP)
    ending = Termination(lambda: [deaf.pid], lambda: [deaf.pid])
    ending.begin(now=100.0)
    ending.advance(105.0)
    assert deaf.poll() is None
    ending.advance(111.0)
    assert deaf.wait(10) == -signal.SIGKILL
    assert ending.ended_a_hang


@pytest.mark.process
def test_a_launcher_that_starts_ranks_again_is_left_alone(deaf: subprocess.Popen[bytes]) -> None:
    ranks = [1 << 30]  # no such process
    ending = Termination(lambda: [deaf.pid], lambda: ranks)
    ending.begin(now=0.0)
    ranks[:] = [(1 << 30) + 1]
    for now in (1.0, 11.0, 80.0, 100.0):
        ending.advance(now)
    assert deaf.poll() is None
    assert not ending.ended_a_hang
    assert not ending.is_under_way


@pytest.mark.process
def test_a_launcher_that_does_neither_ends_with_all_below_it(
    deaf: subprocess.Popen[bytes],
) -> None:
    ending = Termination(lambda: [deaf.pid], lambda: [1 << 30])
    ending.begin(now=0.0)
    for now in (11.0, 72.0, 83.0):
        ending.advance(now)
    assert deaf.wait(10) == -signal.SIGKILL


def test_a_note_is_a_line_of_events() -> None:
    event = event_of(NOTE, "now")
    assert event.pop("at") == "now"
    assert event == {
        "kind": "hang_confirmed",
        "ranks": "0,2-3",
        "culprits": [1],
        "phase": "save",
        "call": {"op": "all_reduce", "seq": 7, "group": "default_pg"},
        "since_s": 4.235,
        "why": "processes 1 outlived their launcher and were ended",
        "message": {"key": "run.leftover", "values": {"pids": "1"}},
    }


def test_the_books_are_written_in_order(folder: RunFolder) -> None:
    journal = RunJournal(folder)
    journal.note(NOTE)
    journal.note(NOTE, exit_code=3)
    journal.show(lambda: JobSnapshot(at_s=5.0, up_s=1.0, world_size=4))
    assert not journal.wants_view
    journal.close()
    lines = [json.loads(line) for line in folder.events.read_text().splitlines()]
    assert [line.get("exit_code") for line in lines] == [None, 3]
    assert json.loads(folder.standing.read_text())["world_size"] == 4
    assert [standing.at_s for standing in read(folder.history)] == [5.0]
    assert journal.lost == ()


def test_books_that_cannot_be_written_are_lost_in_words_and_once(folder: RunFolder) -> None:
    folder.events.mkdir()
    journal = RunJournal(folder)
    journal.note(NOTE)
    journal.note(NOTE)
    journal.close()
    assert journal.lost == (Loss.of("events_unwritten", why="Is a directory"),)


def test_a_disk_that_hangs_stops_nobody() -> None:
    over = threading.Event()
    lost: list[Loss] = []
    writer = RunWriter(lost.append)
    writer.write("standing", lambda: over.wait(30))
    began = time.monotonic()
    for _ in range(2000):
        writer.write("events", lambda: None)
    writer.finish(0.1)
    assert time.monotonic() - began < 5
    assert Loss.of("disk_silent") in lost
    over.set()


def test_what_breaks_in_writing_does_not_end_the_writing() -> None:
    lost: list[Loss] = []
    written: list[int] = []
    writer = RunWriter(lost.append)
    writer.write("standing", lambda: 1 / 0)
    writer.write("events", lambda: written.append(1))
    writer.finish(10)
    assert written == [1]
    assert lost == [Loss.of("standing_unwritten", why="ZeroDivisionError: division by zero")]


def test_a_record_is_replaced_as_a_whole(folder: RunFolder) -> None:
    write_json(folder.record, begin(request_of(folder, nodes=2), RunClock.begin()))
    data = json.loads(folder.record.read_text())
    assert (data["schema"], data["nodes"], data["timeouts"]) == ("unhang.run/1", 2, "keep")
    with pytest.raises(TypeError):
        write_json(folder.record, {"x": object()})
    assert json.loads(folder.record.read_text()) == data
    assert [path.name for path in folder.root.glob(".*")] == []


def test_a_later_start_of_a_job_is_judged_by_its_own_output(folder: RunFolder) -> None:
    folder.output("here").mkdir()
    (folder.output("here") / "stdout.log").write_text(
        "2026-11-21T07:00:00.000000+00:00 RuntimeError of the first start\n"
        "2026-11-21T07:10:00.000000+00:00 a line of the second\n"
    )
    (folder.stacks / "here-1.txt").write_text("old")
    os.utime(folder.stacks / "here-1.txt", (0, 0))
    folder.dump(4).mkdir()
    since = interim_diagnosis.StartMoment(1795244900.0)  # 07:08:20
    places = interim_diagnosis._evidence(folder, 4, since)
    assert places == [folder.dump(4)]
    part = folder.dump(4) / "output" / "here" / "stdout.log"
    assert part.read_text() == "2026-11-21T07:10:00.000000+00:00 a line of the second\n"
    assert folder.output_root in interim_diagnosis._evidence(folder, 0, since), (
        "at the end, all of it"
    )
    assert folder.output_root in interim_diagnosis._evidence(
        folder, 4, interim_diagnosis.StartMoment(0.0)
    ), "the first start"


@pytest.mark.process
def test_a_run_without_evidence_has_no_verdict_and_says_why(folder: RunFolder) -> None:
    found: list[interim_diagnosis.InterimDiagnosis] = []
    folder.output_root.rmdir()
    interim_diagnosis.examine(folder, 1, interim_diagnosis.StartMoment(0.0), found.append)
    wait_for(lambda: found)
    assert found[0].diagnosis is None
    assert found[0].failure is not None
    assert found[0].failure.code == "no_verdict"
    assert found[0].failure.values["why"].startswith("UsageError: ")


MOUNTS = """\
22 1 254:1 / / rw shared:1 - ext4 /dev/vda1 rw
30 22 0:40 / /home rw shared:2 - nfs4 server:/home rw
31 30 254:2 / /home/local\\040disk rw shared:3 - ext4 /dev/vdb rw
32 22 0:41 / /data rw shared:4 - fuse.juicefs JuiceFS rw
33 22 0:42 / /tmp rw shared:5 - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/work/runs", False),
        ("/home/me/runs/not-there-yet", True),
        ("/home/local disk/runs", False),
        ("/homework/runs", False),
        ("/data", True),
    ],
)
def test_network_disks_are_told_from_local_ones(
    path: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mountinfo"
    file.write_text(MOUNTS)
    monkeypatch.setattr(local_scratch, "_MOUNTS", file)
    monkeypatch.setattr(Path, "exists", lambda self: True)
    assert local_scratch.on_network(Path(path)) is expected


def test_probes_keep_off_a_network_disk(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_scratch, "on_network", lambda path: path == folder.root)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = local_scratch.choose_near(folder.root, "torchrun")
    assert place.parent == tmp_path
    assert local_scratch.choose_near(folder.root, "/usr/bin/srun") == folder.root
    local = RunFolder(place)
    local.make()
    local.board("here", 7).write_bytes(b"board")
    local_scratch.bring(local, folder)
    assert folder.board("here", 7).read_bytes() == b"board"
    local_scratch.drop(place, folder.root)
    assert not place.exists()
    local_scratch.drop(folder.root, folder.root)
    assert folder.root.exists()


@pytest.mark.process
def test_the_users_command_has_its_signals(folder: RunFolder) -> None:
    show = "exec:grep -E 'Sig(Blk|Ign)' /proc/self/status; echo $UNHANG_CULPRITS $UNHANG_PHASE"
    journal = RunJournal(folder)
    Hooks(request_of(folder, on_hang=show), journal).run(NOTE, folder.captures / "1")
    log = folder.captures / "1" / "exec.log"
    wait_for(lambda: log.exists() and log.read_text().endswith("1 save\n"))
    assert "SigBlk:\t0000000000000000" in log.read_text()
    Hooks(request_of(folder), journal).run(NOTE, folder.captures / "2")
    assert not (folder.captures / "2").exists()
    journal.close()


@pytest.mark.process
def test_an_end_that_another_agent_has_begun_is_ours(deaf: subprocess.Popen[bytes]) -> None:
    told: list[frozenset[int]] = []
    first = Termination(lambda: [deaf.pid], lambda: [deaf.pid], told.append)
    first.begin(now=0.0)
    second = Termination(lambda: [deaf.pid], lambda: [deaf.pid])
    second.resume(told[0], 1.0)
    assert second.ended_a_hang
    second.advance(12.0)
    assert deaf.wait(10) == -signal.SIGKILL
