"""Verdicts beside the truth: right, undetermined, wrong."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from unhang.errors import UsageError
from unhang.lab.drill import Drill
from unhang.lab.drills import DRILLS, find_drill
from unhang.lab.messages import tell_report
from unhang.lab.scoring import Mark, judge_drill, mark_of
from unhang.lab.truth import Truth, read_truth, truth_of
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.ids import Rank
from unhang.model.provenance import Message


def truth(name: str) -> Truth:
    return truth_of(find_drill(name), at="2026-11-21", world_size=4, exit_code=1, seconds=12.34)


def verdict(cause: Cause | Outcome, *culprits: int) -> Diagnosis:
    return Diagnosis(
        outcome=Outcome.CAUSE if isinstance(cause, Cause) else cause,
        cause=cause if isinstance(cause, Cause) else None,
        culprits=frozenset(map(Rank, culprits)),
        summary=Message(key="unit.s"),
    )


@pytest.mark.parametrize(
    ("drill", "said", "mark"),
    [
        ("exception", verdict(Cause.RANK_EXCEPTION, 2), Mark.RIGHT),
        ("exception", verdict(Cause.RANK_EXCEPTION), Mark.UNDETERMINED),
        ("exception", verdict(Cause.RANK_EXCEPTION, 2, 3), Mark.WRONG),
        ("exception", verdict(Cause.HOST_OOM, 2), Mark.WRONG),
        ("exception", verdict(Outcome.LOCATED, 2), Mark.UNDETERMINED),
        ("exception", verdict(Outcome.LOCATED, 1), Mark.WRONG),
        ("exception", verdict(Outcome.UNDETERMINED), Mark.UNDETERMINED),
        ("exception", verdict(Outcome.HEALTHY), Mark.WRONG),
        ("sleep", verdict(Outcome.LOCATED, 2), Mark.RIGHT),
        ("sleep", verdict(Outcome.UNDETERMINED), Mark.UNDETERMINED),
        ("sleep", verdict(Cause.DATA_SLOW, 2), Mark.WRONG),
        ("slow-save", verdict(Cause.TIMEOUT_SHORT, 0), Mark.RIGHT),
        ("port-in-use", verdict(Cause.RENDEZVOUS), Mark.RIGHT),
        ("port-in-use", verdict(Cause.RENDEZVOUS, 0), Mark.WRONG),
        ("cut-link", verdict(Outcome.UNDETERMINED), Mark.RIGHT),
        ("healthy", verdict(Outcome.HEALTHY), Mark.RIGHT),
        ("healthy", verdict(Outcome.UNDETERMINED), Mark.UNDETERMINED),
        ("healthy", verdict(Outcome.LOCATED, 0), Mark.WRONG),
        ("healthy", verdict(Cause.DESYNC), Mark.WRONG),
    ],
)
def test_marks(drill: str, said: Diagnosis, mark: Mark) -> None:
    assert mark_of(truth(drill), said) is mark


def test_the_verdict_that_was_printed_is_marked_as_well(tmp_path: Path) -> None:
    replace(truth("sleep"), at="2026-11-21T08:00:00+00:00").write(tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "merged.log").write_text("[default0]:step 1\n", encoding="utf-8")
    kept = tmp_path / "run" / "captures" / "1"
    kept.mkdir(parents=True)
    (tmp_path / "run" / "events.jsonl").write_text(CONFIRMED + "\n", encoding="utf-8")
    said = {"outcome": "cause", "cause": "desync", "culprits": [2], "summary": "s"}
    (kept / "diagnosis.json").write_text(json.dumps(said), encoding="utf-8")
    assert judge_drill(tmp_path).live is Mark.WRONG


@pytest.mark.parametrize("drill", DRILLS, ids=lambda drill: drill.name)
def test_the_truth_is_read_as_it_was_written(drill: Drill, tmp_path: Path) -> None:
    written = truth(drill.name)
    written.write(tmp_path)
    assert read_truth(tmp_path) == written
    assert written.accept[0] not in written.must_not
    assert not set(written.accept) & set(written.must_not)
    assert all(rank <= drill.world for rank in written.culprits)


def test_names_of_drills_are_unique_and_can_be_typed() -> None:
    names = [drill.name for drill in DRILLS]
    assert len(names) == len(set(names))
    assert all(name.replace("-", "").isalnum() and name.islower() for name in names)


def test_an_unknown_drill_is_answered_with_a_close_one() -> None:
    with pytest.raises(UsageError, match="did you mean 'segfault'"):
        find_drill("segfalt")


def test_a_folder_without_truth_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unhang drill run"):
        judge_drill(tmp_path)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text('{"schema": "unhang.truth/0"}', encoding="utf-8")
    with pytest.raises(UsageError, match=r"unhang\.truth/1"):
        judge_drill(tmp_path)


def test_what_is_left_of_a_drill_is_judged_by_its_logs(tmp_path: Path) -> None:
    truth("exception").write(tmp_path)
    (tmp_path / "logs").mkdir()
    lines = [
        "[rank2]: Traceback (most recent call last):",
        '[rank2]:   File "/job/train.py", line 12, in <module>',
        "[rank2]:     main()",
        "[rank2]: ValueError: sample 1437 has no label",
    ]
    (tmp_path / "logs" / "merged.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = judge_drill(tmp_path)
    (judged,) = report.judged
    assert (judged.mark, judged.said, judged.culprits) == (Mark.RIGHT, "rank_exception", "2")
    assert json.dumps(report.to_json())
    assert "right" in tell_report(report)


CONFIRMED = (
    '{"at": "2026-11-21T08:00:07+00:00", "kind": "hang_confirmed", "culprits": [2], "why": "w"}'
)
ENDED = (
    '{"at": "2026-11-21T08:00:03+00:00", "kind": "exited", "culprits": [2], "exit_code": 1,'
    ' "outcome": "cause", "cause": "rank_exception", "verdict": "v"}'
)
LATE = '{"at": "2026-11-21T08:00:05+00:00", "kind": "waiting", "culprits": [0], "why": "w"}'
LEFT = '{"at": "2026-11-21T08:00:02+00:00", "kind": "exited", "ranks": "2", "why": "w"}'
WELL = '{"at": "2026-11-21T08:00:30+00:00", "kind": "exited", "exit_code": 0, "why": "w"}'


@pytest.mark.parametrize(
    ("drill", "lines", "mark", "seconds"),
    [
        ("sleep", (CONFIRMED, LEFT), Mark.RIGHT, 7.0),
        ("sleep", (CONFIRMED, ENDED), Mark.WRONG, 3.0),  # no exception ended it
        ("sleep", (LATE.replace("[0]", "[2]"), CONFIRMED), Mark.RIGHT, 7.0),
        ("sleep", (CONFIRMED.replace("[2]", "[1]"),), Mark.WRONG, 7.0),
        ("sleep", (CONFIRMED.replace("[2]", "[]"),), Mark.UNDETERMINED, 7.0),
        ("sleep", (LATE.replace("[0]", "[2]"),), Mark.UNDETERMINED, 5.0),
        ("slow-save", (LATE,), Mark.RIGHT, 5.0),
        ("slow-save", (LATE.replace("T08:00", "T07:59"), LATE), Mark.RIGHT, 5.0),
        ("slow-save", (LATE.replace("[0]", "[1]"), LATE), Mark.RIGHT, 5.0),
        ("slow-save", (LATE, CONFIRMED.replace("[2]", "[0]")), Mark.WRONG, 7.0),
        ("slow-save", (LATE, ENDED), Mark.WRONG, 3.0),
        ("two-asleep", (CONFIRMED.replace("[2]", "[1]"),), Mark.UNDETERMINED, 7.0),
        ("two-asleep", (CONFIRMED.replace("[2]", "[1, 3]"),), Mark.RIGHT, 7.0),
        ("sleep", (), Mark.UNDETERMINED, None),
        ("exception", (ENDED,), Mark.RIGHT, 3.0),
        ("exception", (ENDED.replace("[2]", "[]"),), Mark.UNDETERMINED, 3.0),
        ("exception", (ENDED.replace("[2]", "[0]"),), Mark.WRONG, 3.0),
        ("healthy", (LATE, WELL), Mark.RIGHT, None),
        ("healthy", (CONFIRMED, WELL), Mark.WRONG, 7.0),
    ],
)
def test_the_live_judge_is_marked_too(
    tmp_path: Path, drill: str, lines: tuple[str, ...], mark: Mark, seconds: float | None
) -> None:
    replace(truth(drill), at="2026-11-21T08:00:00+00:00").write(tmp_path)
    for name in ("logs", "run"):
        (tmp_path / name).mkdir()
    (tmp_path / "logs" / "merged.log").write_text("[default0]:step 1\n", encoding="utf-8")
    text = "".join(f"{line}\n" for line in lines) + '{"at": "half a li'
    (tmp_path / "run" / "events.jsonl").write_text(text, encoding="utf-8")
    report = judge_drill(tmp_path)
    assert (report.live, report.named_s) == (mark, seconds)
    assert "live: " in tell_report(report)
    assert json.loads(json.dumps(report.to_json()))["live"]["mark"] == mark.value
