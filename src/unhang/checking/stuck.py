"""A stage that hangs is judged as every hang: from where each rank stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unhang.api import diagnose
from unhang.errors import UnhangError
from unhang.model.diagnosis import Outcome
from unhang.model.ids import format_ranks
from unhang.model.preflight import Stage, Status


def judge_stuck(name: str, answers: Mapping[int, Mapping[str, Any]]) -> Stage | None:
    """What the stacks and the last words of the ranks of a stage tell.

    Args:
        name: of the stage.
        answers: of the ranks that hung or failed, with their `log`.

    Returns:
        Who, and why; None where the stacks do not tell.
    """
    with TemporaryDirectory(prefix="unhang-check-") as folder:
        for rank, answer in answers.items():
            Path(folder, f"rank{rank}.log").write_text(str(answer["log"]), encoding="utf-8")
        try:
            verdict = diagnose(folder)
        except UnhangError:
            return None
    if verdict.outcome not in (Outcome.CAUSE, Outcome.LOCATED):
        return None
    return Stage(
        name=name,
        status=Status.FAIL,
        message=verdict.summary,
        ranks=frozenset(verdict.culprits),
        measured={
            "cause": None if verdict.cause is None else verdict.cause.value,
            "outcome": verdict.outcome.value,
            "victims": format_ranks(verdict.victims),
        },
    )
