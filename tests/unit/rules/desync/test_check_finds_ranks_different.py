"""Checks of programs that compare their ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from support.builders import by, incident, source
from support.crashes import raised
from unhang.model.causes import Cause
from unhang.model.events import ExceptionKind, ModelDifference, ModelMismatch, PythonException
from unhang.model.finding import Strength
from unhang.rules.desync.check_finds_ranks_different import check


def seen(text: str, rank: int = 0, line: int = 5) -> PythonException:
    return PythonException(
        source=source(line),
        origin=by(rank),
        kind=ExceptionKind.MISMATCH,
        exception="AssertionError",
        message=text,
    )


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("loss terms are different across GPUs", Cause.MODEL_DIVERGENCE),
        ("Number of batches differs between processes: 41 vs 40", Cause.UNEVEN_WORK),
        ("collectives are not the same on all ranks", Cause.DESYNC),
    ],
)
def test_what_differs_is_the_cause(text: str, cause: Cause) -> None:
    (finding,) = check(incident(seen(text)))
    assert (finding.cause, finding.strength) == (cause, Strength.SUPPORTS)


def test_all_that_raise_are_nobody() -> None:
    (finding,) = check(incident(*(seen("x differs across ranks", rank, rank) for rank in range(4))))
    assert not finding.culprits


def test_after_a_failure_it_is_an_echo() -> None:
    (finding,) = check(incident(raised(1, line=1), seen("x differs across ranks")))
    assert finding.strength is Strength.HINTS


def test_the_frameworks_own_check_tells_more() -> None:
    told = ModelMismatch(source=source(2), origin=by(), difference=ModelDifference.PARAMETER_COUNT)
    assert not list(check(incident(seen("x"), told)))


@pytest.mark.parametrize(
    "text",
    [
        "head dim 64 is different from 128",
        "the shapes of the two operands do not match",
        "different optimizers for the ranks of LoRA",
    ],
)
def test_other_differences_are_the_programs_own(text: str, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    frame = '[rank2]:   File "/job/a.py", line 3, in f'
    head = f"[rank2]: Traceback (most recent call last):\n{frame}\n[rank2]:     x\n"
    log.write_text(f"{head}[rank2]: ValueError: {text}\n")
    assert unhang.diagnose(str(log)).cause is Cause.RANK_EXCEPTION
