"""From where the processes stand to who waits and who is elsewhere; shared by the rules on stacks.

A collective that hangs leaves all ranks but the late one in a wait. With NCCL the wait need not be
in the call itself: Python runs ahead of the GPU and stops where it needs a result, so a rank in the
step of the model, at the GPU, or where most ranks stand is no suspect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from unhang.model.events import (
    BarrierMissing,
    CollectiveTimeout,
    DumpSignal,
    GlooFault,
    StoreFault,
    WatchdogStuck,
)
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Incident, Manner, ranks_of
from unhang.model.stances import Doing, Stance
from unhang.rules import order

_ALARMS = (
    CollectiveTimeout,
    DumpSignal,
    BarrierMissing,
    GlooFault,
    StoreFault,
    WatchdogStuck,
)
_ELSEWHERE = frozenset(
    {Doing.WORKS, Doing.STORAGE, Doing.LOCKED, Doing.COLLECTS, Doing.CODE},
)

_IMPORTS = "<module>"
"""Where a program stands that is being loaded, or that is not in functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Who stands where.

    Attributes:
        waiters: processes that wait for others, or may do so.
        elsewhere: the few that do something else, each of a known rank.
        silent: ranks of the job that left no stack.
        alarmed: somebody gave up waiting, so that the stacks are surely those of a hang.
    """

    waiters: tuple[Stance, ...]
    elsewhere: tuple[Stance, ...]
    silent: Ranks
    alarmed: bool


def find_scene(incident: Incident) -> Scene | None:
    """Return who waits for whom, or None where the stacks do not tell that anybody does."""
    # Beside ranks there may be launchers, loaders and servers: processes without a number.
    stances = [s for s in incident.stances if s.rank is not None]
    crowd = _crowd(stances)
    elsewhere = [s for s in stances if _is_elsewhere(s) and _place(s) not in crowd]
    waiters = [s for s in stances if s not in elsewhere and _may_wait(s, crowd)]
    alarmed = any(isinstance(event, _ALARMS) for event in incident.events)
    if len(elsewhere) > len(waiters):
        return None
    if not alarmed and any(s.moved for s in waiters):
        return None  # who waits at one place and a moment later at another is in a job that runs
    surely = any(s.doing is Doing.WAITS or (s.idle and s.doing is Doing.STEPS) for s in waiters)
    if not waiters or not (surely or alarmed or len(waiters) > 1):
        return None
    return Scene(
        waiters=tuple(waiters),
        elsewhere=tuple(elsewhere),
        silent=_silent(incident),
        alarmed=alarmed,
    )


def ranks(stances: Iterable[Stance]) -> Ranks:
    """The known ranks of some processes."""
    return frozenset(s.rank for s in stances if s.rank is not None)


def contradicted(incident: Incident, suspects: Ranks) -> bool:
    """Whether something else explains the hang, or the suspects gave up waiting themselves."""
    if any(f.manner in order.DECISIVE for f in incident.failures):
        return True
    joined = frozenset(r for call in incident.calls for r in call.joined if r >= Rank(0))
    on_their_way_out = ranks_of(f for f in incident.failures if f.manner is Manner.PEER)
    return bool(suspects & (joined | on_their_way_out))


def _place(stance: Stance) -> tuple[str, ...]:
    return tuple(step.place for step in stance.path)


def _crowd(stances: Iterable[Stance]) -> frozenset[tuple[str, ...]]:
    """Places where more than half of all processes stand: they do not wait for themselves."""
    places = Counter(_place(s) for s in stances)
    half = sum(places.values()) / 2
    return frozenset(place for place, count in places.items() if count > half and count > 1)


def _is_elsewhere(stance: Stance) -> bool:
    return stance.doing in _ELSEWHERE and (stance.certain or stance.doing is not Doing.CODE)


def _may_wait(stance: Stance, crowd: frozenset[tuple[str, ...]]) -> bool:
    if stance.doing in {Doing.WAITS, Doing.STEPS, Doing.DEVICE}:
        return True
    loading = stance.code.startswith(_IMPORTS)
    return stance.doing in {Doing.CODE, Doing.LOCKED} and not loading and _place(stance) in crowd


def _silent(incident: Incident) -> Ranks:
    """Ranks that should have left a stack."""
    told = ranks(incident.stances)
    size = incident.world.size
    known = frozenset(incident.roster)
    expected = known if size is None else known | {Rank(r) for r in range(size)}
    return (expected - told) if told else NO_RANKS
