"""Work that some rank began and trained on after: every rank is past it, whatever it printed.

Many programs say on all ranks that something begins, on none that it ends, and print their steps on
rank 0 alone. Training steps need every rank, so when one rank did the same work and then trained
on, a rank that is silent since its own announcement of it is not still at it. Steps that nobody
signed in the same file are some rank's of the job, so they count for all who announced it there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from unhang.assemble.run import Run
from unhang.model.events import PhaseMark, Progress
from unhang.model.ids import Rank
from unhang.model.phases import Phase, PhaseEdge
from unhang.model.provenance import Provenance

_STEPS = 3
"""Steps after the work: one or two may be printed before they wait for the other ranks."""

Work = tuple[Phase, str]
"""A phase, with the words in which it was announced."""


@dataclass(slots=True)
class _Speaker:
    """What one rank announced, and the steps that it printed after the latest of each."""

    artifact: str
    begun: dict[Work, int] = field(default_factory=dict)
    steps: dict[Work, set[int]] = field(default_factory=dict)


def find_outlived(run: Run, marks: Iterable[PhaseMark | Progress]) -> frozenset[Provenance]:
    """Where the announcements stand that every rank is past.

    The n-th announcement of a work is over once some rank has trained on after its own n-th.
    """
    voices: dict[Rank, _Speaker] = {}
    announced: list[tuple[Work, int, Provenance]] = []
    over: dict[Work, int] = {}
    for mark in marks:
        rank, artifact = run.identity.rank_of(mark), mark.source.artifact
        step = _step(mark)
        if rank is None:
            heard = [v for v in voices.values() if v.artifact == artifact]
        else:
            heard = [voices.setdefault(rank, _Speaker(artifact))]
        if step is not None:
            for voice in heard:
                for work in _past(voice, step):
                    over[work] = max(over.get(work, 0), voice.begun[work])
        elif rank is not None and isinstance(mark, PhaseMark) and mark.edge is PhaseEdge.BEGIN:
            voice = heard[0]
            work = mark.phase, mark.detail
            voice.begun[work] = voice.begun.get(work, 0) + 1
            voice.steps[work] = set()
            announced.append((work, voice.begun[work], mark.source))
    return frozenset(source for work, nth, source in announced if nth <= over.get(work, 0))


def _step(mark: PhaseMark | Progress) -> int | None:
    """What tells a training step from the others; None where it is none."""
    if isinstance(mark, Progress):
        return mark.done if mark.phase in (None, Phase.TRAIN) else None
    trains = mark.phase is Phase.TRAIN and mark.edge is PhaseEdge.DURING
    return -(mark.source.line or 0) - 1 if trains else None


def _past(voice: _Speaker, step: int) -> list[Work]:
    """Works that are over, as this step shows."""
    for steps in voice.steps.values():
        steps.add(step)
    return [work for work, steps in voice.steps.items() if len(steps) >= _STEPS]
