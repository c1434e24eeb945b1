"""Compares verdicts on a drill's artifacts with the truth beside them."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unhang.lab.folder import DrillFolder
from unhang.lab.truth import Truth, read_truth
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.ids import format_ranks


class Mark(enum.Enum):
    """How good a verdict is."""

    RIGHT = "right"
    UNDETERMINED = "undetermined"
    """Nothing false, but not all that is true."""
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One verdict beside the truth.

    Attributes:
        sources: what was read: `logs`, or `logs, dumps, stacks`.
        said: cause or outcome.
        culprits: as `format_ranks` prints them.
        phase: that the verdict names, or None.
        confidence: of the verdict.
        fired: codes of the rules.
    """

    sources: str
    mark: Mark
    said: str
    culprits: str
    phase: str | None
    confidence: float
    fired: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All verdicts on one drill."""

    truth: Truth
    judged: tuple[Judged, ...]

    def to_json(self) -> dict[str, Any]:
        """The contract `unhang.drill/1`."""
        rows = [{**asdict(each), "mark": each.mark.value} for each in self.judged]
        return {"schema": "unhang.drill/1", "truth": asdict(self.truth), "judged": rows}


def judge_drill(folder: Path) -> Report:
    """Diagnose what a drill left: from its logs alone, and from everything.

    Raises:
        UsageError: the folder is not that of a drill.
    """
    truth, at = read_truth(folder), DrillFolder(folder)
    everything = [path for path in (at.logs, at.dumps, at.stacks) if _holds_files(path)]
    judged = [_judge(truth, "logs", [at.logs])]
    if everything != [at.logs]:
        judged.append(_judge(truth, ", ".join(path.name for path in everything), everything))
    return Report(truth=truth, judged=tuple(judged))


def mark_of(truth: Truth, verdict: Diagnosis) -> Mark:
    """How good a verdict is."""
    said, named = _said(verdict), set(verdict.culprits)
    if not named <= set(truth.culprits):
        return Mark.WRONG
    if said in truth.accept:
        return Mark.RIGHT if named == set(truth.culprits) or _names_nobody(said) else _partly(truth)
    honest = verdict.outcome in {Outcome.LOCATED, Outcome.UNDETERMINED}
    return Mark.UNDETERMINED if honest else Mark.WRONG


def _partly(truth: Truth) -> Mark:
    """The cause without the ranks: right where no rank holds the others up."""
    return Mark.UNDETERMINED if truth.culprits else Mark.RIGHT


def _names_nobody(said: str) -> bool:
    return said in {Outcome.HEALTHY.value, Outcome.UNDETERMINED.value}


def _judge(truth: Truth, sources: str, paths: list[Path]) -> Judged:
    from unhang.api import diagnose

    verdict = diagnose(*map(str, paths))
    return Judged(
        sources=sources,
        mark=mark_of(truth, verdict),
        said=_said(verdict),
        culprits=format_ranks(verdict.culprits),
        phase=None if verdict.phase is None else verdict.phase.value,
        confidence=round(verdict.confidence, 2),
        fired=verdict.fired,
    )


def _said(verdict: Diagnosis) -> str:
    return verdict.outcome.value if verdict.cause is None else verdict.cause.value


def _holds_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())
