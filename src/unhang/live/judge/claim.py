"""What is held against some ranks at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from unhang.live.judge.track import Track
from unhang.live.judge.usual_durations import Where
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.model.ids import Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.waits import CallRef, Wait

_FRESH = 3
"""Reports in a row, before anything is held against anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is held against some ranks at one moment.

    Attributes:
        victims: ranks that wait for them, directly or through others.
        still_s: how long the fact has been observed, or None where the culprits move.
        waited_s: how long the first victim has waited.
        stage: how far the observed times carry it.
        lifeless_s: of what does not prove a hang by itself: for how long no sign of life was seen.
        patience_s: for how long that may last before the job is ended; None = it is proved.
        lives: signs of life of the last seconds.
        where: place and phase of the culprits, by which is remembered how long they stand there.
        place: the program's own code where the first of them stands; "" = nothing tells.
        borne_out: more than the name of a function of the program tells the phase.
        between: the pairs of ranks of which one waits for the other alone, with what it waits in.
        move, due: of culprits that left their habit, the call that they issued, and the one that
            always came next so far; without `due` a call that all others issued.
        ask: the dumps of all ranks would decide.
    """

    charge: SuspicionReason
    culprits: Ranks
    victims: Ranks
    call: CallRef
    phase: Phase | None = None
    still_s: float | None = None
    waited_s: float
    stage: Stage
    lifeless_s: float | None = None
    patience_s: float | None = None
    lives: tuple[str, ...] = ()
    where: tuple[Where, ...] = ()
    place: str = ""
    borne_out: bool = False
    between: tuple[tuple[Rank, Rank, str], ...] = ()
    move: str = ""
    due: str = ""
    ask: bool = False


GRAVITY = {Stage.WATCHED: 0, Stage.SUSPECTED: 1, Stage.CONFIRMED: 2}


def is_fresh(ranks: Iterable[Rank], tracks: Mapping[Rank, Track]) -> bool:
    """Whether the reports of some ranks came without a gap for a while."""
    return all(tracks[rank].looks >= _FRESH for rank in ranks if rank in tracks)


def lasted_s(wait: Wait) -> float:
    """How long the first of its waiters has waited; 0 = unknown."""
    return wait.waited_s or 0.0


def limit_s(waits: Iterable[Wait]) -> float | None:
    """How long the program itself would have waited: where nobody works, more is no patience."""
    return min((wait.limit_s for wait in waits if wait.limit_s is not None), default=None)


def phase_of(ranks: Iterable[Rank], tracks: Mapping[Rank, Track]) -> Phase | None:
    """The phase that some ranks are in, where it is one."""
    phases = {tracks[rank].place.phase for rank in ranks if rank in tracks}
    return phases.pop() if len(phases) == 1 else None
