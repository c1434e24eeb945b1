"""Standings that are kept over time."""

from __future__ import annotations

import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest

from unhang.errors import ArtifactError
from unhang.live.messages.job_snapshot import Condition, JobSnapshot, RankView
from unhang.live.run_folder.history import History, read, span
from unhang.model.ids import Rank


def _standing(at_s: float, cpu_share: float = 0.5) -> JobSnapshot:
    view = RankView(
        rank=Rank(0), host="h", pid=7, condition=Condition.WORKING, since_s=1.0, cpu_share=cpu_share
    )
    return JobSnapshot(at_s=at_s, up_s=at_s, world_size=1, ranks=(view,))


def test_standings_come_back_in_order_and_in_the_asked_span(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    history = History(path)
    kept = [_standing(float(n)) for n in range(7)]
    for standing in kept:
        history.add(standing)
    history.close()
    assert list(read(path)) == kept
    assert list(read(path, since_s=2.0, until_s=4.0)) == kept[2:5]
    assert span(path) == (0.0, 6.0)


def test_a_full_history_keeps_the_whole_course_coarser_at_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    history = History(path, most_bytes=4000)
    for number in range(200):
        history.add(_standing(float(number), cpu_share=number / 7))
    history.close()
    times = [standing.at_s for standing in read(path)]
    assert times[0] == 0.0
    assert times[-1] == 199.0
    assert times[-2] == 198.0, "the newer half is whole"
    assert len(times) < 60
    gaps = [b - a for a, b in pairwise(times)]
    assert gaps[0] > gaps[-1]


def test_a_run_that_goes_on_keeps_what_there_was(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    for at_s in (1.0, 2.0):
        history = History(path)
        history.add(_standing(at_s))
        history.close()
    assert span(path) == (1.0, 2.0)


def test_a_reader_that_holds_the_file_costs_samples_and_no_time(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    history = History(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    history.add(_standing(1.0))
    with pytest.raises(OSError, match="1 samples of the history are lost"):
        history.flush()
    other.execute("ROLLBACK")
    other.close()
    history.add(_standing(2.0))
    history.close()
    assert span(path) == (2.0, 2.0)


def test_a_file_of_another_kind_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    path.write_text("nothing of the kind, but long enough to be looked at" * 30)
    with pytest.raises(ArtifactError, match="expected the history of a run"):
        list(read(path))
    with pytest.raises(OSError, match="cannot write"):
        History(path)
