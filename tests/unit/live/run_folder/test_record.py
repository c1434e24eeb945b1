"""The clock and the record of a run, and what it says was lost."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from unhang.live.messages.losses import Loss, gather, losses_from_json, losses_to_json
from unhang.live.messages.request import RunRequest
from unhang.live.run_folder.clock import RunClock
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.record import begin, close_record, open_record, write_json
from unhang.model.ids import Rank

RANKS = frozenset({Rank(0), Rank(1)})


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.make()
    return made


def test_the_clock_of_a_run_goes_on_when_that_of_the_host_jumps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = RunClock.begin()
    before_s = time.time()
    monkeypatch.setattr(time, "time", lambda: before_s - 3600)
    assert clock.now_s() == pytest.approx(before_s, abs=5)
    assert clock.ahead_s() == pytest.approx(-3600, abs=5)
    assert clock.stamp(0.0) == "1970-01-01T00:00:00.000+00:00"


def test_the_last_record_takes_no_more_room(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = RunClock.begin()
    request = RunRequest(command=("x",), root=folder.root, near=folder.root, host="here")
    record = begin(request, clock)
    open_record(folder, record)
    assert folder.last_record.stat().st_blocks * 512 >= 256 << 10

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("unhang.live.run_folder.record.replace", full)
    lost = [replace(Loss.of("no_torch"), ranks=frozenset({rank})) for rank in RANKS]
    close_record(folder, record | {"exit_code": 3}, lost)
    data = json.loads(folder.record.read_bytes())
    assert (data["exit_code"], data["id"]) == (3, "run")
    assert [(loss["code"], loss["ranks"]) for loss in data["lost"]] == [("no_torch", "0-1")]
    assert data["lost"][0]["text"].startswith("ranks 0-1: torch was never imported")
    assert not folder.last_record.exists()


def test_without_that_room_the_record_is_written_as_ever(folder: RunFolder) -> None:
    write_json(folder.record, {"id": "old"})
    close_record(folder, {"id": "run"}, [])
    assert json.loads(folder.record.read_bytes()) == {"id": "run", "lost": []}


def test_losses_survive_the_way_between_processes() -> None:
    losses = (
        Loss.of("judge_gap", gap=12),
        Loss("no_torch", ranks=RANKS),
        Loss("events_unwritten", {"why": "full"}, host="gn1"),
    )
    assert losses_from_json(json.loads(json.dumps(losses_to_json(losses)))) == losses
    hostile = {"code": "no_torch", "values": {"why": ["a list cannot be compared"]}}
    assert losses_from_json([{"code": 7}, "no loss", None, hostile]) == ()
    assert losses_from_json("none") == ()


def test_what_several_ranks_have_lost_is_said_once_in_the_readers_language() -> None:
    each = [Loss("no_torch", ranks=frozenset({rank})) for rank in (Rank(3), Rank(0))]
    (one,) = gather(each)
    assert one.say().startswith("ranks 0,3: torch was never imported")
    assert one.say("zh").startswith("rank 0,3：始终没有导入 torch")
    on_host = Loss("events_unwritten", {"why": "full"}, host="gn1")
    assert str(on_host).startswith("gn1: lines of events.jsonl could not be written (full)")
