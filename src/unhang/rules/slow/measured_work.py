"""Work that tells by counts or by its length that it was not stuck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from unhang import lazy_re as re
from unhang.model.events import PhaseMark, Progress
from unhang.model.ids import Rank
from unhang.model.incident import Incident
from unhang.model.phases import Phase, PhaseEdge
from unhang.rules.shared import order
from unhang.rules.slow.waiting import OthersWait

_STATES, _STATES_IN_WAIT = 3, 2
"""So many states of a count tell its pace, and that it went on while the others waited."""
_MEASURED_STEPS = 3
_LENGTH = re.compile(r"(?<![\d.])(\d{1,6}(?:\.\d{1,9})?) ?(?:s|secs?|seconds)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What a rank counts while the others wait: its last state, and the seconds to its end."""

    rank: Rank
    last: Progress
    left_s: float


def counts_in_wait(incident: Incident, wait: OthersWait, waited_s: float) -> Sequence[Count]:
    """Counts that go on, by the clock, until the others give up; of ranks that do not wait."""
    series: dict[tuple[Rank, str, int], list[Progress]] = {}
    for state in incident.all(Progress):
        rank = state.rank if state.rank is not None else state.origin.rank
        if rank is None or rank in wait.ranks or state.total is None or state.phase is Phase.TRAIN:
            continue
        series.setdefault((rank, state.label, state.total), []).append(state)
    return [
        Count(rank=rank, last=states[-1], left_s=left)
        for (rank, _, total), states in series.items()
        if (left := _left_s(states, total, wait, waited_s)) is not None
    ]


def _left_s(
    states: Sequence[Progress], total: int, wait: OthersWait, waited_s: float
) -> float | None:
    """Seconds to the end of a count by its pace; None where it does not go on in the wait."""
    ages = [(order.gap_s(wait.alarm, s), s.done) for s in states]
    told = [(age, done) for age, done in ages if age is not None and age >= 0]
    if len(told) < _STATES or told != sorted(told, key=lambda t: (-t[0], t[1])):
        return None
    (first_s, first), *_, (last_s, last) = told
    lately = [age for age, _ in told if age <= waited_s]
    longest = max(one - other for (one, _), (other, _) in pairwise(told))
    if len(lately) < _STATES_IN_WAIT or last_s > longest or not first < last < total:
        return None
    return (first_s - last_s) / (last - first) * (total - last)


def outgrown(
    incident: Incident, wait: OthersWait, limit_s: float
) -> tuple[PhaseMark, float] | None:
    """Work that ended by itself after the others gave up, for the first time beyond the limit."""
    lengths: dict[Phase, list[tuple[PhaseMark, float]]] = {}
    for mark in incident.all(PhaseMark):
        length = _LENGTH.search(mark.detail) if mark.edge is PhaseEdge.END else None
        if length is not None and mark.phase is not Phase.TRAIN:
            lengths.setdefault(mark.phase, []).append((mark, float(length[1])))
    for *before, (last, last_s) in lengths.values():
        grew = bool(before) and max(s for _, s in before) < limit_s <= last_s <= 2 * limit_s
        if grew and order.is_before(wait.alarm, last) is True:
            return last, last_s
    return None


def last_step(incident: Incident, wait: OthersWait) -> tuple[Progress | None, float]:
    """The last bar of training before the wait, and how long a step takes by it, in seconds."""
    bars = [
        b
        for b in incident.all(Progress)
        if b.phase in (None, Phase.TRAIN) and not order.is_before(wait.alarm, b)
    ]
    bar = bars[-1] if bars else None
    if bar is None or bar.elapsed_s is None or bar.done < _MEASURED_STEPS:
        return None, 0.0
    return bar, bar.elapsed_s / bar.done
