"""The whole pipeline takes any bytes: no exception, no broken rule, no sentence that fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unhang
from property.texts import documents
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.reporters import REPORTERS, render

_NAMES = st.sampled_from(
    ["job.log", "rank3.log", "dmesg", "r.json", "a.gz", "b.tar", "nccl_trace_rank_1"]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("anything")


@settings(max_examples=150, deadline=None)
@given(found=st.dictionaries(_NAMES, documents(), min_size=1, max_size=3))
def test_any_bytes_get_a_verdict(folder: Path, found: dict[str, bytes]) -> None:
    for old in folder.iterdir():
        old.unlink()
    for name, data in found.items():
        (folder / name).write_bytes(data)
    try:
        diagnosis = unhang.diagnose(str(folder))
    except unhang.UsageError:
        return  # nothing in it can be read at all, and that is said in one sentence
    assert_sound(diagnosis)
    for form in REPORTERS:
        assert render(diagnosis, form)


def assert_sound(diagnosis: Diagnosis) -> None:
    """What holds for every verdict, whatever it was made from."""
    assert not [p for p in diagnosis.problems if p.message.startswith("rule ")]
    assert (diagnosis.outcome is Outcome.CAUSE) == (diagnosis.cause is not None)
    assert 0.0 <= diagnosis.confidence <= 1.0
    assert not diagnosis.culprits & diagnosis.victims
    assert all(int(rank) >= 0 for rank in diagnosis.culprits)
    if diagnosis.cause is not None:
        assert diagnosis.candidates[0].cause is diagnosis.cause
        assert diagnosis.candidates[0].evidence
