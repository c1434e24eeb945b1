"""How far apart the ranks' progress is at a failure, from bars and step lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from unhang import lazy_re as re
from unhang.model.events import CollectiveTimeout, Progress, StepsPlanned, Witness
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Call, Incident
from unhang.model.phases import Phase
from unhang.rules.desync.loop_ends import kind_of
from unhang.rules.shared import order
from unhang.waitgraph import matching

_RANK = re.compile(r"\brank\W{0,3}\d{1,7}", re.IGNORECASE)
_RECENT = 12
_FEWEST_STEPS = 2
_LEAST_LAG_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """Ranks that are not in one step.

    Attributes:
        states: the states that show it.
        totals: different numbers of steps, where it is these that differ.
        odd: ranks with the fewest steps, where lines name ranks and they are the minority.
        ended_early: a rank had finished its smaller number of steps.
    """

    states: tuple[Progress | StepsPlanned, ...]
    totals: frozenset[int] = frozenset()
    odd: Ranks = NO_RANKS
    ended_early: bool = False


def of_stream(incident: Incident, first: CollectiveTimeout) -> Apart | None:
    """Nameless bars of one kind on one stream: later prints that are steps behind earlier ones.

    Both the order of the prints and the clocks of the bars must show it: bars start at different
    times, and launchers hold lines back.
    """
    bars = [
        p
        for p in incident.all(Progress)
        if _is_training(p)
        and p.elapsed_s is not None
        and p.source.artifact == first.source.artifact
        and order.is_before(p, first) is not False
    ]
    recent = bars[-_RECENT:]
    for place, ahead in enumerate(recent):
        ended = _is_done(ahead)
        for behind in recent[place + 1 :]:
            if not _is_one_kind(ahead, behind):
                continue
            if ended and behind.done == 0:
                break  # another loop of as many steps begins
            ended = ended or _is_done(behind)
            if _lags(behind, ahead):
                return Apart(states=(ahead, behind))
    return None


def _is_one_kind(one: Progress, other: Progress) -> bool:
    return one.total is not None and (one.label, one.total) == (other.label, other.total)


def _is_done(state: Progress) -> bool:
    return state.total is not None and state.done >= state.total


def _lags(behind: Progress, ahead: Progress) -> bool:
    """Whether a later print is so far behind that it must be another rank's, and late."""
    if behind.elapsed_s is None or ahead.elapsed_s is None or ahead.done <= 0:
        return False
    steps = ahead.done - behind.done
    waited = behind.elapsed_s - ahead.elapsed_s
    step_s = ahead.elapsed_s / ahead.done
    return steps >= _FEWEST_STEPS and waited >= 0 and steps * step_s + waited >= _LEAST_LAG_S


def of_ranks(incident: Incident) -> Apart | None:
    """Bars that name their rank: different totals, or last steps too far apart."""
    by_rank: dict[Rank, list[Progress]] = {}
    for state in incident.all(Progress):
        rank = state.origin.rank if state.rank is None else state.rank
        if rank is not None and state.phase is Phase.TRAIN:
            by_rank.setdefault(rank, []).append(state)
    if len(by_rank) < 2:
        return None
    last = {rank: states[-1] for rank, states in by_rank.items()}
    if len({_RANK.sub("", state.label) for state in last.values()}) > 1:
        return None
    return _by_totals(last) or _by_steps(incident, last, max(map(_interval, by_rank.values())))


def of_plans(incident: Incident) -> Apart | None:
    """Different numbers of steps, by what ranks say of themselves in the same words.

    Those with the fewest are not in the call that all others wait in, or in another one.
    """
    plans: dict[str, dict[Rank, StepsPlanned]] = {}
    for plan in incident.all(StepsPlanned):
        if plan.origin.rank is not None:
            plans.setdefault(plan.words, {})[plan.origin.rank] = plan
    for told in plans.values():
        counts = {rank: plan.count for rank, plan in told.items()}
        short = frozenset(rank for rank, n in counts.items() if n == min(counts.values()))
        odd = _minority(short, counts)
        alike = [_waits_alike(call, odd) for call in incident.calls]
        if odd and True not in alike:
            return Apart(
                states=tuple(told.values()),
                totals=frozenset(counts.values()),
                odd=odd,
                ended_early=False in alike,
            )
    return None


def _waits_alike(call: Call, odd: Ranks) -> bool | None:
    """Whether they wait in the same call as some others; None where they do not wait."""
    kinds = {j.rank: kind_of(j) for j in matching.collective_joins(call)}
    others = {kind for rank, kind in kinds.items() if rank not in odd}
    mine = {kind for rank, kind in kinds.items() if rank in odd}
    return None if not mine or not others else not mine.isdisjoint(others)


def _by_totals(last: dict[Rank, Progress]) -> Apart | None:
    totals = {rank: p.total for rank, p in last.items() if p.total is not None}
    if len(set(totals.values())) < 2 or len(totals) < len(last):
        return None
    fewest = min(totals.values())
    short = frozenset(rank for rank, total in totals.items() if total == fewest)
    ended = all(last[rank].done >= fewest for rank in short)
    return Apart(
        states=tuple(last.values()),
        totals=frozenset(totals.values()),
        odd=_minority(short, last),
        ended_early=ended,
    )


def _by_steps(incident: Incident, last: dict[Rank, Progress], interval: int) -> Apart | None:
    """Ranks whose last steps lie apart, as far as those behind had nothing left to print.

    A process that is killed loses the end of its buffered output, however long: its last line is
    not its last step. Who printed something after that line lost none of the steps before it.
    """
    steps = [p.done for p in last.values()]
    if max(steps) - min(steps) < 2 * interval + 1:
        return None
    behind = frozenset(rank for rank, p in last.items() if p.done == min(steps))
    if not all(_spoke_after(incident, rank, last[rank]) for rank in behind):
        return None
    return Apart(states=tuple(last.values()), odd=_minority(behind, last))


def _spoke_after(incident: Incident, rank: Rank, step: Progress) -> bool:
    """Whether a rank printed anything of its own below its last step."""
    return any(
        event.source.artifact == step.source.artifact
        and (event.source.line or 0) > (step.source.line or 0)
        and event.witness is Witness.PROCESS
        and (event.origin.rank == rank or (event.origin.rank is None and rank in incident.gave_up))
        for event in incident.events
    )


def _minority(ranks: Ranks, everybody: Iterable[Rank]) -> Ranks:
    return ranks if 2 * len(ranks) < len(list(everybody)) else NO_RANKS


def _interval(states: Sequence[Progress]) -> int:
    """How many steps apart a rank prints."""
    gaps = [b.done - a.done for a, b in pairwise(states) if b.done > a.done]
    return min(gaps, default=1)


def _is_training(state: Progress) -> bool:
    return state.phase in (None, Phase.TRAIN)
