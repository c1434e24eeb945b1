"""Thousands of ranks and hours of samples become a small map; one bad rank still shows."""

from __future__ import annotations

from dataclasses import replace

from support.run_folders import AT_S, LATE, hanging, training
from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.live.run_folder.rank_times import activity_of
from unhang.model.activity import Activity
from unhang.model.ids import Rank


def cells(samples: list[JobSnapshot], *, rows: int = 64, columns: int = 20) -> list[str]:
    """One text for each row of the map, with a letter for each column."""
    found = activity_of(samples, columns=columns)
    assert found is not None
    letters = {
        None: " ",
        Activity.WORK: ".",
        Activity.WAIT: "|",
        Activity.FAULT: "X",
        Activity.END: "-",
    }
    strips = found.fold(found.bands(rows))
    return ["".join(letters[kind] * length for length, kind in strip) for strip in strips]


def test_waiting_and_the_frozen_rank_show_in_their_columns() -> None:
    shown = cells([training(AT_S), training(AT_S + 1), hanging(AT_S + 2)], columns=3)
    assert [row[0] for row in shown] == ["."] * 4
    assert [row[-1] for row in shown] == ["X" if rank == LATE else "|" for rank in range(4)]


def test_many_ranks_share_rows_and_one_fault_colours_its_cell() -> None:
    one = hanging().ranks
    many = tuple(
        replace(one[LATE] if n == 777 else one[0], rank=Rank(n), phase=None) for n in range(1024)
    )
    shown = cells([replace(hanging(), ranks=many)])
    assert len(shown) == 64
    assert [row for row, strip in enumerate(shown) if "X" in strip] == [777 // 16]


def test_time_without_samples_stays_empty() -> None:
    near = [training(AT_S + second) for second in range(3)]
    shown = cells([*near, training(AT_S + 3_000)], columns=100)
    assert shown[0][50] == " "


def test_nothing_gives_no_map() -> None:
    assert activity_of([]) is None
    assert activity_of([replace(training(), ranks=())]) is None
