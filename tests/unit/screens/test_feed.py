"""What screens read from a run folder, whatever state it is in."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.run_folders import AT_S, LATE, hanging, run_folder, training
from unhang.errors import UsageError
from unhang.screens.feed import EventTail, Feed


def test_a_live_run(tmp_path: Path) -> None:
    run_folder(tmp_path, [training()])
    feed = Feed(tmp_path)
    assert feed.standing() == training()
    assert feed.is_live()
    assert feed.record().command[0] == "torchrun"


def test_a_run_that_has_ended_is_not_live(tmp_path: Path) -> None:
    run_folder(tmp_path, [training()], ended=True)
    feed = Feed(tmp_path)
    assert not feed.is_live()
    assert feed.record().exit_code == 86


def test_a_run_whose_agent_is_gone_is_not_live(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, [training()])
    os.utime(folder.standing, (1, 1))
    assert not Feed(tmp_path).is_live()


def test_another_folder_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no run\.json; expected"):
        Feed(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"ranks": 7}', '{"at_s": "now"}'])
def test_a_view_that_cannot_be_read_is_no_view(tmp_path: Path, content: str) -> None:
    folder = run_folder(tmp_path, [training()])
    folder.standing.write_text(content)
    folder.history.write_bytes(b"not a database" * 100)
    feed = Feed(tmp_path)
    assert feed.standing() is None
    assert feed.past() == []
    assert feed.course() == []
    assert feed.span() is None


def test_the_course_is_spread_over_the_whole_run(tmp_path: Path) -> None:
    run_folder(tmp_path, [training(AT_S + n) for n in range(100)] + [hanging(AT_S + 100)])
    course = Feed(tmp_path).course(most=20)
    times = [standing.at_s - AT_S for standing in course]
    assert len(times) <= 20
    assert times == sorted(times)
    assert times[0] < 20
    assert times[-1] > 80


def test_events_are_read_as_they_come_and_whole(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, [], events=2)
    tail = EventTail(folder.events)
    assert [e.ranks for e in tail.fresh()] == ["", "2"]
    with folder.events.open("a") as file:
        file.write('{"kind": "resumed", "why": "half')
        file.flush()
        assert tail.fresh() == []
        file.write(' a line"}\nnonsense\n[1]\n')
    (event,) = tail.fresh()
    assert (event.number, event.kind, event.why) == (3, "resumed", "half a line")
    assert tail.fresh() == []


def test_a_folder_without_events_has_none(tmp_path: Path) -> None:
    assert EventTail(tmp_path / "events.jsonl").fresh() == []


@pytest.mark.parametrize(
    ("outcome", "culprits", "suspected"),
    [
        ("cause", [LATE], True),
        ("cause", [LATE + 1], False),
        ("cause", [], False),
        ("located", [], True),
        ("undetermined", [], True),
    ],
)
def test_after_the_end_a_proved_cause_says_who_is_suspected(
    tmp_path: Path, outcome: str, culprits: list[int], suspected: bool
) -> None:
    folder = run_folder(tmp_path, [hanging()], ended=True)
    verdict = folder.captures / "1" / "diagnosis.json"
    verdict.parent.mkdir(parents=True, exist_ok=True)
    verdict.write_text(json.dumps({"outcome": outcome, "culprits": culprits}))
    standing = Feed(tmp_path).standing()
    assert standing is not None
    assert bool(standing.suspicions) is suspected
