"""Verdicts of unhang in a log are no evidence, and what stands around them is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unhang.api import diagnose
from unhang.engine.own_reports import ENDINGS, HEADINGS
from unhang.model.diagnosis import Outcome
from unhang.model.provenance import Message
from unhang.reporters import render
from unhang.reporters.catalogue import LANGUAGES, write
from unhang.reporters.style import PLAIN

FAILURE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 1 has a total capacity of 79.10 GiB of which 1.00 GiB is free.\n"
)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_verdict_proves_nothing(tmp_path: Path, language: str) -> None:
    log = tmp_path / "job.log"
    log.write_text(FAILURE)
    verdict = render(diagnose(str(log)), "terminal", replace(PLAIN, language=language))
    log.write_text("epoch 1 begins\n" + verdict + "\nepoch 2 begins\n")
    assert diagnose(str(log)).outcome is not Outcome.CAUSE
    log.write_text("epoch 1 begins\n" + verdict + "\n" + FAILURE)
    assert diagnose(str(log)).outcome is Outcome.CAUSE


def test_a_heading_without_an_end_hides_nothing(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("UNDETERMINED\n" + FAILURE)
    assert diagnose(str(log)).outcome is Outcome.CAUSE


def test_every_language_has_its_words() -> None:
    outcomes = {"cause", "located", "undetermined", "healthy"}
    told = {write(Message(key=f"outcome.{o}"), lang) for o in outcomes for lang in LANGUAGES}
    assert told == set(HEADINGS)
    read = Message(key="footer.read", values={"files": 1, "size": 1, "seconds": 1.0})
    for language in LANGUAGES:
        assert write(read, language).startswith(ENDINGS)
