"""Logs that read like those of good jobs take back what a line convicts, and convict nobody."""

import pytest

from support.builders import ended, incident, timeout
from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.model.likely import Sign
from unhang.model.provenance import Message
from unhang.verdict import doubts as module
from unhang.verdict.chances import LEAST_WORDS, NOTHING_FAILED, WORD, Chances
from unhang.verdict.doubts import as_a_whole

NAMES = [f"word{n}" for n in range(LEAST_WORDS)]
FINE = Chances(
    classes=("host_oom", NOTHING_FAILED),
    base=(0.0, 0.0),
    weights={f"{WORD}{name}": (-1.0, 1.0) for name in NAMES},
    rarity={f"{WORD}{name}": 1.0 for name in NAMES},
)
SIGNS = [Sign(kind="word", value=name) for name in NAMES]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "load_chances", lambda: FINE)


def finding(cause: Cause | None) -> Finding:
    claim = Message(key="summary.undetermined")
    return Finding(
        rule="CRA001", cause=cause, strength=Strength.PROVES, claim=claim, why=claim, evidence=()
    )


def test_a_line_convicts_nobody_whose_logs_read_fine() -> None:
    (kept,) = as_a_whole(incident(ended(2, signal=9)), SIGNS, [finding(Cause.HOST_OOM)])
    assert kept.strength is Strength.HINTS
    assert kept.against is not None
    assert kept.against.key == "against.reads_fine"


@pytest.mark.parametrize("cause", [None, Cause.BANDWIDTH_LOW])
def test_who_it_is_and_what_a_good_job_may_have_stay(cause: Cause | None) -> None:
    (kept,) = as_a_whole(incident(ended(2, signal=9)), SIGNS, [finding(cause)])
    assert kept.strength is Strength.PROVES


def test_who_waits_in_a_call_was_not_told_by_words() -> None:
    (kept,) = as_a_whole(incident(timeout(0)), SIGNS, [finding(Cause.HOST_OOM)])
    assert kept.strength is Strength.PROVES


def test_few_words_tell_no_kind_of_log_from_another() -> None:
    (kept,) = as_a_whole(incident(ended(2, signal=9)), SIGNS[1:], [finding(Cause.HOST_OOM)])
    assert kept.strength is Strength.PROVES
