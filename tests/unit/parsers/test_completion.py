"""Last words of any wording are told once, and no failure passes for one."""

from __future__ import annotations

import pytest

from support.feeding import feed
from unhang.model.events import Finished
from unhang.parsers.completion import CompletionParser


def told(*lines: str) -> list[bool]:
    events = feed(CompletionParser, *lines)
    return [e.of_all_work for e in events if isinstance(e, Finished)]


@pytest.mark.parametrize(
    ("line", "all_work"),
    [
        ("all 30 epochs done; best=24; goodbye", True),
        ("max_iters reached, bye", True),
        ("run complete exit_code=0", True),
        ("[smoke] PASS", False),
        ("[done] ok", False),
        ("done, destroy_process_group()", False),
        ("Finished. final batch 64", False),
    ],
)
def test_a_good_end(line: str, all_work: bool) -> None:
    assert told(line) == [all_work]


@pytest.mark.parametrize(
    "line",
    [
        "step done",
        "      Finished:     Tue, 04 Mar 2025 10:39:58 +0000",
        "Completed: 2025-03-04 10:39:58",
        "not done",
        "training finished with 3 errors",
        "job failed, cleanup done",
        "waiting until all ranks are done",
        "checkpoint saved, done",
        "run ended by signal 15",
        "done loading the dataset",
        "train-job-a-0 worker completed step: 4, loss 2.1",
        "job-7 completed step 4",
    ],
)
def test_a_part_or_a_failure_is_none(line: str) -> None:
    assert told(line) == []


def test_only_the_last_one_is_told() -> None:
    assert len(told("training complete", "[done] ok")) == 1
