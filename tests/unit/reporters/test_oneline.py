"""The verdict on one line: who, where, why and what to do, within the limit."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from support.diagnoses import healthy, slow_save
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.ids import Rank
from unhang.model.provenance import Message
from unhang.reporters import render


def test_a_cause_tells_culprit_confidence_and_remedy() -> None:
    line = render(slow_save(), "oneline")
    assert len(line) <= 200
    assert "\n" not in line
    head, who, *_, remedy = line.split(" | ")
    assert head.startswith("checkpoint_slow ")
    assert head.endswith("%")
    assert "rank" in who
    assert remedy == "What to do"


def test_a_healthy_job_is_called_so() -> None:
    assert render(healthy(), "oneline").startswith("healthy | ")


@given(st.text(max_size=2_000), st.sets(st.integers(0, 5_000), max_size=300))
def test_whatever_the_words_the_line_holds_its_limit(text: str, ranks: set[int]) -> None:
    diagnosis = Diagnosis(
        outcome=Outcome.LOCATED,
        culprits=frozenset(Rank(r) for r in ranks),
        summary=Message(key="fix.verbatim", values={"text": text}),
    )
    line = render(diagnosis, "oneline")
    assert len(line) <= 200
    assert line.isprintable()


def test_a_diagnosis_gives_itself_as_data_and_as_html() -> None:
    diagnosis = slow_save()
    assert diagnosis.to_dict() == json.loads(render(diagnosis, "json"))
    page = diagnosis._repr_html_()
    assert page.startswith("<details")
    assert "checkpoint_slow" in page


def test_words_of_logs_cannot_become_html() -> None:
    summary = Message(key="fix.verbatim", values={"text": "<script>alert(1)</script>"})
    assert "<script>" not in Diagnosis(outcome=Outcome.LOCATED, summary=summary)._repr_html_()
