"""Finds the progress bar that began when the others began to wait, and whose it is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from unhang.model.events import Progress, PythonException, Witness
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Incident
from unhang.rules.shared import order
from unhang.rules.slow.waiting import OthersWait

_USUAL_VOICE = Rank(0)
"""What nobody signed is nearly always printed by rank 0."""

_CLOSE_S, _CLOSE = 5.0, 0.02
"""How far the bar's begin may lie from that of the wait: seconds, and share of the wait."""
_FAR_APART, _IN_THE_WAIT = 0.4, 0.1
"""Shares of the wait: between two states that show the bar advancing, and before the first."""
_LONGEST_ITEM = 0.25
_FOR_THE_FIRST = frozenset(
    {
        "main_process_first",
        "local_main_process_first",
        "main_first",
        "zero_first",
        "rank_zero_first",
    }
)
"""Context managers in which all processes but the first wait."""
_PACE = 4.0
"""Times by which the pace told by the remaining time may differ from that of the whole."""


def find_bar_of_wait(incident: Incident, wait: OthersWait, waited_s: float) -> Sequence[Progress]:
    """States of the bar that began with the wait and advanced in it; none where none does."""
    bars: dict[tuple[object, ...], list[Progress]] = {}
    for event in incident.all(Progress):
        if event.phase is None and event.elapsed_s is not None and event.total is not None:
            key = (event.source.artifact, event.origin, event.rank, event.label, event.total)
            states = bars.setdefault(key, [])
            if states and event.done < states[-1].done:
                states.clear()  # drawn anew: another pass
            states.append(event)
    for states in bars.values():
        told = [s for s in states if order.is_before(wait.alarm, s) is not True]
        speaker = _speaker(told[-1]) if told else None
        if told and speaker not in wait.ranks and _fits(told, waited_s):
            return told
    return ()


def _fits(states: Sequence[Progress], waited_s: float) -> bool:
    last = states[-1]
    elapsed_s = last.elapsed_s or 0.0
    if last.done < 1:
        return False
    item_s = min(elapsed_s / last.done, _LONGEST_ITEM * waited_s)
    close_s = max(_CLOSE_S, _CLOSE * waited_s)
    if not waited_s - item_s - close_s <= elapsed_s <= waited_s + close_s:
        return False
    apart = any(
        s.done < last.done
        and elapsed_s - (s.elapsed_s or 0.0) >= _FAR_APART * waited_s
        and (s.elapsed_s or 0.0) > _IN_THE_WAIT * waited_s
        for s in states
    )
    return apart or _is_steady(last, elapsed_s)


def _is_steady(bar: Progress, elapsed_s: float) -> bool:
    """Whether the remaining time, which follows the last items, fits the pace of all of them."""
    if bar.remaining_s is None or bar.total is None or bar.done >= bar.total:
        return False
    pace_s, last_s = elapsed_s / bar.done, bar.remaining_s / (bar.total - bar.done)
    return pace_s <= _PACE * last_s and last_s <= _PACE * pace_s


def _speaker(bar: Progress) -> Rank:
    told = bar.rank if bar.rank is not None else bar.origin.rank
    return _USUAL_VOICE if told is None else told


def owner_of(incident: Incident, wait: OthersWait, bar: Progress) -> Ranks:
    """The rank that a bar names; else rank 0, where it is the only voice that can be rank 0's.

    Bars are drawn by rank 0 alone in most programs. It is taken for the owner only where somebody
    else is seen to wait, where all is on one host (each host may have a bar of its own), where
    rank 0 signs no line, which it would do here too, and where only one such bar is drawn.
    """
    told = bar.rank if bar.rank is not None else bar.origin.rank
    if told is not None:
        return frozenset({told})
    hosts = {f.host for f in incident.roster.values() if f.host is not None}
    signed = any(
        event.origin.rank == _USUAL_VOICE and event.witness is not Witness.LAUNCHER
        for event in incident.events
    )
    several = len(hosts) > 1 or _is_drawn_by_several(incident, bar)
    if signed or several or _USUAL_VOICE in wait.ranks or not _somebody_waits(wait):
        return NO_RANKS
    return frozenset({_USUAL_VOICE})


def _somebody_waits(wait: OthersWait) -> bool:
    """Whether a rank other than 0 gave up, or one whose code says that it is not the first."""
    if wait.ranks or wait.alarm.origin.rank is not None:
        return wait.ranks != {_USUAL_VOICE} and wait.alarm.origin.rank != _USUAL_VOICE
    frames = wait.alarm.frames if isinstance(wait.alarm, PythonException) else ()
    return any(frame.function in _FOR_THE_FIRST for frame in frames)


def _is_drawn_by_several(incident: Incident, bar: Progress) -> bool:
    """Whether states of bars with this label and total go back, or stand in several files."""
    alike = [
        p
        for p in incident.all(Progress)
        if (p.label, p.total) == (bar.label, bar.total) and p.elapsed_s is not None
    ]
    back = any(b.done < a.done and b.done > 1 for a, b in pairwise(alike))
    return back or len({p.source.artifact for p in alike}) > 1
