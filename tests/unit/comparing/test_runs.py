"""Runs are read from run folders, tables and verdicts; what is odd is told in one sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from unhang.comparing import compare_runs, read_runs
from unhang.comparing.summary import median_to_failure
from unhang.errors import UsageError
from unhang.model.codec import document
from unhang.model.comparison import Answer, RunFacts
from unhang.model.diagnosis import Diagnosis
from unhang.model.events import Event
from unhang.model.ids import Rank
from unhang.model.measurements import (
    SCHEMA,
    MeasuredSave,
    PhaseTimes,
    RankSetting,
    RunMeasurements,
    StepTimes,
)
from unhang.model.phases import Phase
from unhang.reporters.compare import render_comparison


def _never(path: str) -> tuple[Diagnosis, Sequence[Event]]:
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
        (f"failed,hours\n1,{'4' * 200_000}\n", "is not a table of jobs: field larger than"),
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


def _set(name: str, value: str, *ranks: int) -> RankSetting:
    return RankSetting(name=name, value=value, ranks=frozenset(map(Rank, ranks)))


def _run(*settings: RankSetting, world: int | None = None, **more: Any) -> RunFacts:
    return RunFacts(name="r", hours=1.0, failed=False, settings=settings, world_size=world, **more)


def test_settings_that_did_not_reach_every_rank_are_told() -> None:
    before = _run(_set("NCCL_ALGO", "Ring", 0, 1))
    after = _run(_set("NCCL_ALGO", "Tree", 0), _set("NCCL_ALGO", "Ring", 1))
    (change,) = compare_runs([before], [after]).settings
    assert (change.before, change.after) == (("Ring",), ("Ring", "Tree"))
    assert change.partly
    (place,) = change.lacking
    assert (place.run, place.ranks) == ("r", frozenset({Rank(1)}))


def test_a_setting_that_reached_everybody_and_one_that_was_dropped() -> None:
    before = _run(_set("NCCL_ALGO", "Ring", 0, 1), _set("NCCL_PROTO", "LL", 0, 1))
    after = _run(_set("NCCL_ALGO", "Tree", 0, 1))
    algo, proto = compare_runs([before], [after]).settings
    assert not algo.partly
    assert (proto.after, proto.lacking, proto.partly) == ((), (), False)


def test_ranks_that_left_no_record_are_named() -> None:
    before = _run(_set("NCCL_ALGO", "Ring", 0, 1), world=2)
    after = _run(_set("NCCL_ALGO", "Tree", 0, 1), world=4)
    (change,) = compare_runs([before], [after]).settings
    assert [place.ranks for place in change.unrecorded] == [{2, 3}]


def test_a_setting_that_nobody_reads_cannot_be_the_reason() -> None:
    before = _run(_set("torch", "2.6.0", 0))
    after = _run(_set("torch", "2.6.0", 0), _set("NCCL_TIMEOUT", "7200", 0))
    comparison = compare_runs([before], [after])
    assert comparison.settings[0].remark is not None
    for form in ("terminal", "markdown"):
        assert "NCCL_TIMEOUT: - -> 7200" in render_comparison(comparison, form)


def test_what_nccl_printed_is_told() -> None:
    before = _run(_set("NCCL_IB_TIMEOUT", "18", 0))
    printed = (_set("NCCL_IB_TIMEOUT", "22", 0),)
    after = _run(_set("NCCL_IB_TIMEOUT", "22", 0), printed=printed)
    (change,) = compare_runs([before], [after]).settings
    assert change.printed == ("22",)


def test_a_run_folder_tells_what_it_measured(tmp_path: Path) -> None:
    _folder(tmp_path, "a", 0, {"kind": "exited"})
    steps = StepTimes(count=900, median_s=0.5, p99_s=2.0, longest_s=9.0)
    save = MeasuredSave(at_s=1.0, rank=Rank(0), size_bytes=4 << 30, seconds=16.0)
    phase = PhaseTimes(
        phase=Phase.SAVE, count=2, total_s=31.0, longest_s=16.0, latest_s=(15.0, 16.0)
    )
    measured = RunMeasurements(
        at_s=2.0,
        ranks=frozenset({Rank(0), Rank(1)}),
        world_size=2,
        steps=steps,
        phases=(phase,),
        saves=(save,),
        settings=(_set("NCCL_ALGO", "Ring", 0, 1),),
    )
    (tmp_path / "a" / "measured.json").write_text(document(SCHEMA, measured))
    log = tmp_path / "a" / "output" / "gn1" / "stderr.log"
    log.parent.mkdir(parents=True)
    log.write_text("gn1:7:9 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n")
    (run,), _ = read_runs([str(tmp_path)], _never)
    assert (run.steps, run.saves, run.world_size) == (steps, (save,), 2)
    assert run.phases_s == {"save": (15.0, 16.0)}
    assert [(p.name, p.value) for p in run.printed] == [("NCCL_ALGO", "Ring")]
    text = render_comparison(compare_runs([run], [run]), "terminal")
    assert "0.5 s, 2 s" in text
    assert "1: 4 GiB in 16 s" in text


def test_measurements_that_are_damaged_cost_only_themselves(tmp_path: Path) -> None:
    _folder(tmp_path, "a", 0, {"kind": "exited"})
    for text in ('{"at_s": "x"}', "[1]", "{", '{"at_s":1,"ranks":"0-","phases":[{"phase":"?"}]}'):
        (tmp_path / "a" / "measured.json").write_text(text)
        (run,), problems = read_runs([str(tmp_path)], _never)
        assert (run.steps, run.settings, problems) == (None, (), [])


def test_the_median_counts_runs_that_are_still_going() -> None:
    def run(hours: float, *, failed: bool) -> RunFacts:
        return RunFacts(name="r", hours=hours, failed=failed)

    some = [run(2, failed=True), run(3, failed=False), run(5, failed=True), run(9, failed=False)]
    # alive after 2 h: 3/4; after 5 h: 3/4 x 1/2
    assert median_to_failure(some) == 5
    assert (
        median_to_failure([run(2, failed=True), run(3, failed=False), run(4, failed=False)]) is None
    )


def test_no_failure_in_one_run_proves_nothing_and_says_so() -> None:
    before = [RunFacts(name=str(i), hours=4.0, failed=i < 1) for i in range(3)]
    after = [RunFacts(name="a", hours=4.0, failed=False)]
    comparison = compare_runs(before, after)
    assert comparison.answer is Answer.TOO_FEW
    text = render_comparison(comparison, "terminal")
    assert "0 failures in 1 run proves nothing" in text
    assert "up to 75 of 100 cases" in text
