"""The likely cause: counted signs, no verdict, and nothing where nothing failed."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from support.builders import ended, incident, source, timeout
from unhang.api import diagnose
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.events import Finished
from unhang.model.likely import CountedSign, Sign
from unhang.model.provenance import Message, Origin
from unhang.reporters import render
from unhang.reporters.catalogue import LANGUAGES
from unhang.reporters.shown_likely import shown_sign
from unhang.reporters.style import Style
from unhang.verdict.chances import (
    NOTHING_FAILED,
    WORD,
    Chances,
    load_chances,
    read_chances,
    write_chances,
)
from unhang.verdict.likely import weigh
from unhang.verdict.signs import read_signs

CHANCES = Chances(
    classes=("desync", "eval_slow", "host_oom", NOTHING_FAILED),
    base=(0.0, 0.0, 0.0, 0.0),
    weights={
        "end: killed": (-1.0, -1.0, 2.5, -0.5),
        "op: allgather": (2.0, 0.5, -1.0, -1.5),
        "word: memory": (-0.5, -0.5, 1.0, 0.0),
        "word: fine": (0.0, 0.0, 0.0, 0.0),
        "words: crash": (0.0, 0.0, 0.0, 3.0),
    },
)
KILLED = (
    "[rank0]: step 10/100 loss 2.1\n"
    "E1122 10:00:00.000000 17 torch/distributed/elastic/multiprocessing/api.py:874]"
    " failed (exitcode: -9) local_rank: 2 (pid: 4242) of binary: /usr/bin/python\n"
)


def once(*signs: str) -> dict[str, int]:
    return dict.fromkeys(signs, 1)


def open_ended(outcome: Outcome = Outcome.UNDETERMINED) -> Diagnosis:
    return Diagnosis(outcome=outcome, summary=Message(key="summary.undetermined"))


def test_a_sign_moves_chances_as_far_as_it_was_counted() -> None:
    assert CHANCES.order(once("end: killed"))[0][0] == "host_oom"
    assert CHANCES.order(once("op: allgather"))[0][0] == "desync"
    alone = dict(CHANCES.order(once("end: killed")))["host_oom"]
    doubted = dict(CHANCES.order(once("end: killed", "op: allgather")))["host_oom"]
    assert alone > doubted > 1 / 3


def test_a_sign_that_was_never_counted_says_nothing() -> None:
    assert CHANCES.order(once("end: unheard")) == CHANCES.order(once())
    assert CHANCES.said(once("end: unheard"), "desync") == {}
    assert Chances(classes=(), base=(), weights={}).order(once("end: killed")) == []


def test_a_word_says_less_beside_many_others() -> None:
    alone = CHANCES.said(once("word: memory", "end: killed"), "host_oom")
    beside = CHANCES.said(once("word: memory", "word: fine", "end: killed"), "host_oom")
    assert beside["word: memory"] < alone["word: memory"]
    assert beside["end: killed"] == alone["end: killed"]


def test_what_stands_in_good_logs_too_speaks_for_no_cause() -> None:
    assert (
        CHANCES.of_no_failure(once("words: crash"))
        > 0.5
        > CHANCES.of_no_failure(once("end: killed"))
    )
    assert NOTHING_FAILED not in dict(CHANCES.order(once("words: crash")))


def test_chances_are_read_as_they_were_written() -> None:
    words = {name: 1.5 for name in CHANCES.weights if name.startswith(WORD)}
    signs = {name: {"desync": 1.5} for name in CHANCES.weights.keys() - words}
    counted = replace(CHANCES, signs=signs, rarity=words)
    assert read_chances(write_chances(counted, "labelled")) == counted


def test_chances_add_up_and_calibration_keeps_the_order() -> None:
    steps = ((0.3, 0.2), (0.9, 0.6))
    steep = replace(CHANCES, calibration=steps)
    for chances in (CHANCES, steep):
        told = chances.order(once("end: killed"))
        assert sum(chance for _, chance in told) == pytest.approx(1)
        assert told[0][0] == "host_oom"
    assert steep.order(once("end: killed"))[0][1] < CHANCES.order(once("end: killed"))[0][1]


def test_nothing_is_likely_where_nothing_failed() -> None:
    fine = incident(Finished(whole_job=True, source=source(), origin=Origin()))
    assert weigh(fine, open_ended(), read_signs(fine), ()) is None
    failed = incident(ended(2, signal=9))
    signs = read_signs(failed)
    assert weigh(failed, open_ended(), signs, ()) is not None
    for outcome in (Outcome.CAUSE, Outcome.HEALTHY):
        assert weigh(failed, open_ended(outcome), signs, ()) is None


def test_a_job_whose_course_alone_is_known_points_nowhere(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("Evaluating:  40%|####      | 4/10 [00:40<01:00, 10.00s/it]\n")
    assert diagnose(str(log)).likely is None


def test_a_kill_without_a_sender_is_likely_memory_and_stays_unproved(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(KILLED)
    found = diagnose(str(log))
    assert found.cause is None
    assert found.outcome in (Outcome.LOCATED, Outcome.UNDETERMINED)
    assert found.likely is not None
    assert found.likely.cause is Cause.HOST_OOM
    assert 0.3 <= found.likely.chance < 0.95
    assert found.likely.decides.what.key == "collect.kernel_log.what"
    assert found.likely.decides in found.collect_next


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_report_tells_it_as_likely(tmp_path: Path, language: str) -> None:
    log = tmp_path / "log.txt"
    log.write_text(KILLED)
    found = diagnose(str(log))
    assert found.likely is not None
    percent = f"{round(found.likely.chance * 100)}"
    style = Style(language=language, width=100)
    for form in ("terminal", "markdown", "oneline"):
        text = render(found, form, style)
        assert "host_oom" in text.replace("\\", "")
        assert percent in text
    told = json.loads(render(found, "json", style))
    assert told["cause"] is None
    assert told["likely"]["cause"] == "host_oom"
    assert all(sign["with_cause"] <= sign["jobs"] for sign in told["likely"]["signs"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_counted_sign_has_a_sentence(language: str) -> None:
    for name in (*load_chances().signs, f"{WORD}barrier"):
        kind, _, value = name.partition(": ")
        sign = CountedSign(sign=Sign(kind=kind, value=value), jobs=4, with_cause=3)
        assert "sign." not in shown_sign(sign, language), name


def test_the_table_names_causes_and_its_source() -> None:
    text = files("unhang.settings").joinpath("data/chances.json").read_text("utf-8")
    data = json.loads(text)
    causes = {cause.value for cause in Cause}
    assert "labelled" in data["source"]
    assert set(data["classes"]) <= causes | {NOTHING_FAILED}
    assert len(data["base"]) == len(data["classes"])
    for sign in data["signs"].values():
        assert set(sign["jobs"]) <= causes
        assert len(sign["weights"]) == len(data["classes"])
    for numbers in data["words"].values():
        assert len(numbers) == 1 + len(data["classes"])


def test_signs_are_facts_of_the_job() -> None:
    names = {sign.name for sign in read_signs(incident(timeout(0, numel=1), ended(1, signal=9)))}
    assert {"op: allreduce", "call: one-gave-up", "signal: 9", "end: killed"} <= names
