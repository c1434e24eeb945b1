"""Thousands of ranks and hours of samples become a small map; one bad rank still shows."""

from __future__ import annotations

from dataclasses import replace

from support.run_folders import AT_S, LATE, hanging, training
from unhang.live.messages.job_snapshot import Condition
from unhang.model.ids import Rank
from unhang.screens.heat import heat


def test_waiting_and_the_frozen_rank_show_in_their_columns() -> None:
    map_ = heat([training(AT_S), training(AT_S + 1), hanging(AT_S + 2)])
    assert map_.rows == ((0, 0), (1, 1), (2, 2), (3, 3))
    assert [row[0].waiting for row in map_.cells] == [0, 0, 0, 0]
    assert [row[-1].waiting for row in map_.cells] == [1, 1, 0, 1]
    assert map_.cells[LATE][-1].condition is Condition.FROZEN
    assert map_.cells[0][-1].condition is None


def test_many_ranks_share_rows_and_the_gravest_colours_its_cell() -> None:
    one = hanging().ranks
    many = tuple(
        replace(one[LATE] if n == 777 else one[0], rank=Rank(n), phase=None) for n in range(1024)
    )
    map_ = heat([replace(hanging(), ranks=many)], rows=64)
    assert len(map_.rows) == 64
    assert map_.rows[-1] == (1008, 1023)
    frozen = [row for row, cells in enumerate(map_.cells) if cells[0].condition]
    assert frozen == [777 // 16]
    assert map_.cells[frozen[0]][0].waiting == 15 / 16


def test_time_without_samples_stays_empty() -> None:
    map_ = heat([training(AT_S), training(AT_S + 3_000)], columns=100)
    assert len(map_.columns) == 100
    assert map_.cells[0][50].waiting is None


def test_nothing_gives_an_empty_map() -> None:
    assert heat([]).cells == ()
    assert heat([replace(training(), ranks=())]).cells == ()
