"""A run folder is read in its telling parts, and only in those."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from unhang.model.provenance import Problem
from unhang.sources.discover import discover
from unhang.sources.run_folder import evidence, is_run_folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for name in (
        "output/gn1/stdout.log",
        "standing.json",
        "dumps/2/stack_0.txt",
        "dumps/10/stack_0.txt",
        "dumps/10/done_gn1-41",
        "stacks/gn1-41.txt",
        "captures/1/diagnosis.json",
        "events.jsonl",
        "orders/gn1.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("it says something\n")
    record(tmp_path, exit_code=1)
    return tmp_path


def record(folder: Path, **fields: object) -> None:
    (folder / "run.json").write_text(json.dumps({"schema": "unhang.run/1", **fields}))


def read(folder: Path) -> set[str]:
    found = [item for item in discover([str(folder)]) if not isinstance(item, Problem)]
    return {str(Path(item.name).relative_to(folder)) for item in found}


def test_output_standing_last_dumps_and_stacks_are_read(run: Path) -> None:
    assert read(run) == {
        "output/gn1/stdout.log",
        "standing.json",
        "dumps/10/stack_0.txt",
        "dumps/10/done_gn1-41",
        "stacks/gn1-41.txt",
    }


def test_dumps_of_a_run_that_ended_well_tell_of_a_moment_it_survived(run: Path) -> None:
    record(run, exit_code=0)
    assert read(run) == {"output/gn1/stdout.log", "standing.json"}


@pytest.mark.parametrize(("seen_s", "among"), [(1_000.0, True), (1_060.0, False)])
def test_dumps_are_as_old_as_what_was_held_when_the_ranks_were_seen_last(
    run: Path, seen_s: float, *, among: bool
) -> None:
    """The end of the job, which took half a minute, makes no dump older."""
    standing = {
        "at_s": 1_060.0,
        "snapshot": {"at": {"seconds": seen_s}},
        "suspicions": [{"stage": "confirmed", "since_s": 20.0}],
    }
    (run / "standing.json").write_text(json.dumps(standing))
    for path in (run / "dumps" / "10").iterdir():
        os.utime(path, (990.0, 990.0))
    assert ("dumps/10/stack_0.txt" in read(run)) is among


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 7}', '{"schema": "other/1"}', "{" * 9_999])
def test_another_folder_with_such_a_file_is_read_as_a_whole(run: Path, text: str) -> None:
    (run / "run.json").write_text(text)
    assert not is_run_folder(str(run))
    assert "captures/1/diagnosis.json" in read(run)


def test_a_part_of_a_run_may_be_missing(tmp_path: Path) -> None:
    record(tmp_path)
    assert evidence(str(tmp_path)) == []
