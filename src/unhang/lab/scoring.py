"""Compares verdicts on a drill's artifacts with the truth beside them."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from unhang.lab.folder import DrillFolder
from unhang.lab.live_verdicts import CALLS, NAMES, Level, LiveVerdict, words
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
        live: the mark of what the live judge said, where the drill was watched, or None.
        named: the word that tells: the false one, the first that names exactly the culprits, or
            the last; None where nothing was said.
        named_s: seconds from the fault until then, or None.
    """

    truth: Truth
    judged: tuple[Judged, ...]
    live: Mark | None = None
    named: LiveVerdict | None = None
    named_s: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The contract `unhang.drill/1`."""
        rows = [{**asdict(each), "mark": each.mark.value} for each in self.judged]
        live = None
        if self.live is not None:
            named = None
            if self.named is not None:
                named = {**asdict(self.named), "level": self.named.level.value}
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
    live, named = _mark_live(truth, words(at.run))
    return Report(
        truth=truth,
        judged=tuple(judged),
        live=live,
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


def _mark_live(truth: Truth, said: tuple[LiveVerdict, ...]) -> tuple[Mark, LiveVerdict | None]:
    """Hangs and ends are told with their culprits; who is late or well is not accused."""
    false = [word for word in said if _is_false(truth, word)]
    if false:
        return Mark.WRONG, false[0]
    if truth.finishes:
        return Mark.RIGHT, next((word for word in said if word.level is Level.SUSPECTED), None)
    right = [word for word in said if _is_right(truth, word)]
    if right:
        return Mark.RIGHT, right[0]
    return Mark.UNDETERMINED, said[-1] if said else None


def _is_false(truth: Truth, word: LiveVerdict) -> bool:
    """Whether a word accuses somebody else, of something else, or of what is no hang."""
    if word.level not in CALLS:
        return False
    if truth.finishes or not set(word.culprits) <= set(truth.culprits):
        return True
    if truth.may_end and word.level is Level.HANG:
        return True
    honest = {None, Outcome.LOCATED.value, Outcome.UNDETERMINED.value, *truth.accept}
    return word.said not in honest


def _is_right(truth: Truth, word: LiveVerdict) -> bool:
    """Whether a word names exactly the culprits; where there are none, what it was."""
    if word.level not in NAMES and not truth.may_end:
        return False
    if (_since_fault_s(truth, word) or 0.0) < 0:
        return False  # late for a reason of its own, before the fault
    if not truth.culprits:
        return word.said in truth.accept
    return set(word.culprits) == set(truth.culprits)


def _since_fault_s(truth: Truth, named: LiveVerdict) -> float | None:
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
