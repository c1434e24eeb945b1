"""What no single look shows."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from unhang.live.agent.gaps import (
    Jumps,
    interrupted_captures,
    started_again,
    unseen,
)
from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import Beat, losses_of_ranks
from unhang.live.run_folder.clock import RunClock
from unhang.live.run_folder.layout import RunFolder
from unhang.model.ids import Rank


def beat(rank: int | None, **more: object) -> Beat:
    fields: dict[str, object] = {"world_size": 2, "torch": "2.13.0", **more}
    return Beat(host="h", pid=1, rank=None if rank is None else Rank(rank), **fields)  # type: ignore[arg-type]


def test_jumps_are_told_once_and_the_lowest_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    jumps, true_time, shift_s = Jumps(RunClock.begin()), time.time, 0.0
    monkeypatch.setattr(time, "time", lambda: true_time() + shift_s)
    told = []
    for shift_s in (0.0, 0.5, -3600.0, -3600.0, 60.0):  # noqa: B007 (the lambda reads it)
        loss = jumps.look()
        told.append(None if loss is None else loss.values["by"])
    assert told == [None, None, pytest.approx(-3600.5, abs=1), None, pytest.approx(3660, abs=1)]
    assert jumps.back_s == pytest.approx(-3600, abs=1)


def test_a_capture_without_its_bundle_was_interrupted(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for number in (1, 2):
        (folder.captures / str(number)).mkdir(parents=True)
    (folder.captures / "1.unhang.tar.zst").touch()
    assert interrupted_captures(folder) == [Loss.of("bundle_interrupted", number=2)]


def test_a_job_of_which_nothing_was_seen() -> None:
    assert unseen([], one_host=True) == [Loss.of("nothing_seen")]
    assert unseen([beat(None)], one_host=True) == [Loss.of("nothing_seen")]


def test_a_rank_that_was_not_seen_is_missed_in_the_last_start_of_a_whole_job() -> None:
    both = [beat(0, restart=0), beat(1, restart=0)]
    assert unseen(both, one_host=True) == []
    again = [*both, beat(0, restart=1)]
    assert unseen(again, one_host=True) == [Loss.of("ranks_unseen", seen=1, count=2)]
    assert unseen(again, one_host=False) == [], "the others may be on other hosts"


def test_ranks_that_never_had_torch() -> None:
    (loss,) = unseen([beat(0), beat(1, torch=None)], one_host=True)
    assert (loss.code, loss.ranks) == ("no_torch", frozenset({Rank(1)}))


def test_ranks_that_came_after_an_end_tell_that_it_is_past() -> None:
    def at(pid: int, started_s: float) -> Beat:
        return replace(beat(0), pid=pid, process_started_s=started_s)

    assert not started_again([at(1, 100.0), at(2, 101.0)], frozenset({1, 2}))
    assert not started_again([at(7, 50.0), at(1, 100.0)], frozenset({1})), "an earlier start"
    assert started_again([at(1, 100.0), at(9, 160.0)], frozenset({1}))


def test_what_ranks_lose_bears_their_numbers() -> None:
    lost = (Loss.of("probe_usage", why="x"),)
    (loss,) = losses_of_ranks([beat(1, lost=lost), beat(None, lost=lost)])
    assert (loss.code, loss.ranks) == ("probe_usage", frozenset({Rank(1)}))
