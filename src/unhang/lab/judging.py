"""Compares verdicts on a drill's artifacts with the truth beside them."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from unhang.lab.folder import DrillFolder
from unhang.lab.heard import Word, hang_named, last_word
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
        seconds: the diagnosis took.
    """

    sources: str
    mark: Mark
    said: str
    culprits: str
    phase: str | None
    confidence: float
    fired: tuple[str, ...]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All verdicts on one drill.

    Attributes:
        live: the mark of what the live judge named, where the drill was watched, or None.
        named: what it named, or None.
        named_s: seconds from the fault until then, or None.
    """

    truth: Truth
    judged: tuple[Judged, ...]
    live: Mark | None = None
    named: Word | None = None
    named_s: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The contract `unhang.drill/1`."""
        rows = [{**asdict(each), "mark": each.mark.value} for each in self.judged]
        live = None
        if self.live is not None:
            named = None if self.named is None else asdict(self.named)
            live = {"mark": self.live.value, "named": named, "seconds": self.named_s}
        return {
            "schema": "unhang.drill/1",
            "truth": asdict(self.truth),
            "judged": rows,
            "live": live,
        }


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
    if not at.run.is_dir():
        return Report(truth=truth, judged=tuple(judged))
    named = hang_named(at.run) or last_word(at.run)
    return Report(
        truth=truth,
        judged=tuple(judged),
        live=_mark_live(truth, named),
        named=named,
        named_s=None if named is None else _since_fault_s(truth, named),
    )


def mark_of(truth: Truth, verdict: Diagnosis) -> Mark:
    """How good a verdict is."""
    said, named = _said(verdict), set(verdict.culprits)
    if not named <= set(truth.culprits):
        return Mark.WRONG
    if said in truth.accept:
        return Mark.RIGHT if named == set(truth.culprits) or _names_nobody(said) else _partly(truth)
    honest = verdict.outcome in {Outcome.LOCATED, Outcome.UNDETERMINED}
    return Mark.UNDETERMINED if honest else Mark.WRONG


def _mark_live(truth: Truth, named: Word | None) -> Mark:
    """A hang, or an end, is told with its culprits, and a healthy job is left in peace."""
    if named is None:
        return Mark.RIGHT if truth.finishes else Mark.UNDETERMINED
    if not truth.finishes and set(named.culprits) == set(truth.culprits):
        return Mark.RIGHT
    return Mark.WRONG if named.hang or named.culprits else Mark.UNDETERMINED


def _since_fault_s(truth: Truth, named: Word) -> float | None:
    if truth.at is None:
        return None
    gap = datetime.fromisoformat(named.at) - datetime.fromisoformat(truth.at)
    return round(gap.total_seconds(), 1)


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
        seconds=round(verdict.stats.seconds, 2),
    )


def _said(verdict: Diagnosis) -> str:
    return verdict.outcome.value if verdict.cause is None else verdict.cause.value


def _holds_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())
