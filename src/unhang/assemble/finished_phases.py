"""Work that some rank began and trained on after: every rank is past it, whatever it printed.

Many programs say on all ranks that something begins, on none that it ends, and print their steps on
rank 0 alone. Training steps need every rank, so when one rank did the same work and then trained
on, a rank that is silent since its own announcement of it is not still at it.
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
        rank = run.identity.rank_of(mark)
        if rank is None:
            continue
        voice = voices.setdefault(rank, _Speaker())
        if isinstance(mark, Progress):
            for work in _past(voice, mark):
                over[work] = max(over.get(work, 0), voice.begun[work])
        elif mark.edge is PhaseEdge.BEGIN:
            work = mark.phase, mark.detail
            voice.begun[work] = voice.begun.get(work, 0) + 1
            voice.steps[work] = set()
            announced.append((work, voice.begun[work], mark.source))
    return frozenset(source for work, nth, source in announced if nth <= over.get(work, 0))


def _past(voice: _Speaker, step: Progress) -> list[Work]:
    """Works that are over, as this step shows."""
    if step.phase not in (None, Phase.TRAIN):
        return []
    for steps in voice.steps.values():
        steps.add(step.done)
    return [work for work, steps in voice.steps.items() if len(steps) >= _STEPS]
