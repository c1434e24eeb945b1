"""Runs are read from run folders, tables and verdicts; what is odd is told in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unhang.comparing import compare_runs, read_runs
from unhang.comparing.summary import median_to_failure
from unhang.errors import UsageError
from unhang.model.comparison import Answer, RunFacts
from unhang.model.diagnosis import Diagnosis


def _never(path: str) -> Diagnosis:
    raise AssertionError(f"{path} was taken for a log")


def _folder(root: Path, name: str, exit_code: int, *events: dict[str, object]) -> None:
    run = root / name
    run.mkdir(parents=True)
    record = {
        "schema": "unhang.run/1",
        "started": "2026-11-02T08:00:00+00:00",
        "ended": "2026-11-02T10:30:00+00:00",
        "exit_code": exit_code,
    }
    (run / "run.json").write_text(json.dumps(record))
    lines = [json.dumps({"at": "2026-11-02T09:00:00+00:00", **event}) for event in events]
    (run / "events.jsonl").write_text("\n".join(lines) + '\n{"cut')


def test_a_folder_of_run_folders(tmp_path: Path) -> None:
    _folder(tmp_path, "a", 0, {"kind": "exited"})
    _folder(tmp_path, "b", 86, {"kind": "hang_confirmed"}, {"kind": "exited", "cause": "desync"})
    _folder(tmp_path, "c", 143, {"kind": "exited", "cause": "external_stop"})
    runs, problems = read_runs([str(tmp_path)], _never)
    assert [(r.name, r.failed, r.hung, r.cause) for r in runs] == [
        ("a", False, False, None),
        ("b", True, True, "desync"),
        ("c", False, False, "external_stop"),
    ]
    assert [r.hours for r in runs] == [2.5] * 3
    assert problems == []


def test_phases_last_until_the_next_one(tmp_path: Path) -> None:
    at = "2026-11-02T09:00:{:02}+00:00"
    _folder(
        tmp_path,
        "a",
        0,
        {"kind": "phase", "ranks": "0-3", "phase": "train", "at": at.format(0)},
        {"kind": "phase", "ranks": "0-3", "phase": "save", "at": at.format(10)},
        {"kind": "phase", "ranks": "0-3", "phase": "train", "at": at.format(40)},
    )
    runs, _ = read_runs([str(tmp_path)], _never)
    assert runs[0].phases_s == {"train": (10.0,), "save": (30.0,)}


def test_a_table(tmp_path: Path) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text("Name,Hours,Failed,Hang\nx,4,1,1\ny,72.5,0,0\n")
    runs, _ = read_runs([str(table)], _never)
    assert [(r.name, r.hours, r.failed, r.hung) for r in runs] == [
        ("x", 4.0, True, True),
        ("y", 72.5, False, False),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name,hours\nx,4\n", "there is no `failed`"),
        ("failed,hours,cluster\n1,4,a\n", "column 'cluster' is unknown"),
        ("failed,hours\n1,-4\n", "hours is '-4'"),
        ("failed,hours\nperhaps,4\n", "failed is 'perhaps'"),
    ],
)
def test_a_table_that_cannot_be_read(tmp_path: Path, text: str, told: str) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text(text)
    with pytest.raises(UsageError, match="no run to compare") as error:
        read_runs([str(table)], _never)
    assert told in str(error.value)


def test_one_bad_path_costs_only_itself(tmp_path: Path) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text("failed\n1\n")
    runs, problems = read_runs([str(tmp_path / "nowhere"), str(table)], _never)
    assert len(runs) == 1
    assert "does not exist" in problems[0].message


def test_without_hours_starts_are_counted() -> None:
    bad = [RunFacts(name=str(i), hours=None, failed=i < 12) for i in range(20)]
    good = [RunFacts(name=str(i), hours=None, failed=i < 1) for i in range(20)]
    comparison = compare_runs(bad, good)
    assert (comparison.answer, comparison.by) == (Answer.BETTER, "starts")


def test_settings_that_did_not_reach_every_rank_are_told() -> None:
    def run(*values: str) -> RunFacts:
        return RunFacts(name="r", hours=1.0, failed=False, settings={"NCCL_ALGO": values})

    (change,) = compare_runs([run("Ring")], [run("Tree"), run("Ring", "Tree")]).settings
    assert (change.before, change.after) == (("Ring",), ("Ring", "Tree"))
    assert change.partly


def test_the_median_counts_runs_that_are_still_going() -> None:
    def run(hours: float, *, failed: bool) -> RunFacts:
        return RunFacts(name="r", hours=hours, failed=failed)

    some = [run(2, failed=True), run(3, failed=False), run(5, failed=True), run(9, failed=False)]
    # alive after 2 h: 3/4; after 5 h: 3/4 x 1/2
    assert median_to_failure(some) == 5
    assert (
        median_to_failure([run(2, failed=True), run(3, failed=False), run(4, failed=False)]) is None
    )
