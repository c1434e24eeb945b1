"""From a cause that is shown to the ranks that it must be about, where no finding names them.

Three things tell without naming anybody: the hosts that the evidence names, the only process that a
launcher saw end by itself, and who is left when all others of the job are accounted for. Where any
of the files could hold another answer, nobody is named.
"""

from __future__ import annotations

from unhang.model.causes import Cause
from unhang.model.events import (
    BarrierMissing,
    DeviceFault,
    DeviceProblem,
    Event,
    GpuProcess,
    HoldUp,
    HostsDiffer,
    LastLine,
    OneDiffers,
    ProcessEnded,
    PythonException,
    Role,
    Stage,
    Waiter,
)
from unhang.model.finding import Finding
from unhang.model.ids import NO_RANKS, Rank, Ranks, RankSpans
from unhang.model.incident import VICTIM_MANNERS, Failure, Incident, Manner, ranks_of
from unhang.rules.shared import order, speakers

OF_ONE_RANK = frozenset(
    {
        Cause.RANK_EXCEPTION,
        Cause.GPU_OOM,
        Cause.HOST_OOM,
        Cause.RANK_CRASH,
        Cause.GPU_HARDWARE,
        Cause.GPU_KERNEL_FAULT,
    }
)
"""Causes whose culprit is the rank that failed first by itself."""

_OF_A_PATH = frozenset(
    {
        Cause.BANDWIDTH_LOW,
        Cause.NET_INTERFACE,
        Cause.P2P_FAULT,
        Cause.RDMA_FAULT,
        Cause.SHM_SMALL,
    }
)
"""Causes that lie between ranks: who reports them is one of those whom they hit."""
OUT_OF_STEP = frozenset({Cause.DESYNC, Cause.MODEL_DIVERGENCE, Cause.UNEVEN_WORK})
_ONLY_RANK: Ranks = frozenset({Rank(0)})
"""The culprit in a job of one process, of what one process does."""
_ENOUGH = 3
"""Where nothing tells the size of the job, fewer others do not make the last one conspicuous."""
_SAME_MOMENT_S = 2.0
_BARE = frozenset({Manner.KILLED, Manner.EXITED, Manner.CRASHED, Manner.HOST_OOM})


def deduce(incident: Incident, cause: Cause, best: Finding) -> Ranks:
    """The ranks of a cause that no finding names; nobody where the evidence leaves it open."""
    if cause in OUT_OF_STEP:
        return _out_of_step(incident)
    if best.culprit_hosts:
        found = speakers.ranks_on(incident, best.culprit_hosts)
        size = incident.world.size or len(incident.roster)
        return found if 2 * len(found) <= size else NO_RANKS
    told = NO_RANKS if cause in _OF_A_PATH else _of_evidence(incident, best)
    if not told and (cause in OF_ONE_RANK or cause is Cause.EXTERNAL_STOP):
        told = _missed(incident)
    if not told and cause in _OF_A_PATH | {Cause.VERSION_MISMATCH}:
        return _on_odd_host(incident)
    if told or cause not in OF_ONE_RANK:
        return told
    if incident.world.size == 1:
        return _ONLY_RANK
    return (
        _ended_alone(incident)
        or _failed_alone(incident)
        or _left_over(incident)
        or _before_its_echoes(incident)
        or (_by_device(incident) if cause is Cause.GPU_OOM else NO_RANKS)
    )


def _on_odd_host(incident: Incident) -> Ranks:
    """The ranks of the only host that answers otherwise than all others."""
    told = {event.hosts for event in incident.all(HostsDiffer)}
    return speakers.ranks_on(incident, next(iter(told))) if len(told) == 1 else NO_RANKS


def _of_evidence(incident: Incident, best: Finding) -> Ranks:
    """The few ranks that failed in the way that the finding quotes, where all of them are known."""
    quoted = {
        f.manner
        for f in incident.own_failures
        if any(event.source in best.evidence for event in f.events)
    }
    alike = [f for f in incident.own_failures if f.manner in quoted]
    found = ranks_of(alike)
    size = incident.world.size or len(incident.roster)
    few = len(found) == 1 or 2 * len(found) <= size
    return found if few and all(f.rank is not None for f in alike) else NO_RANKS


def _missed(incident: Incident) -> Ranks:
    """The one rank that all who look on miss, where nothing names another that failed by itself."""
    watched = [m for m in incident.all(BarrierMissing) if m.waiter is Waiter.WATCHER]
    missing = {frozenset(m.missing) for m in watched}
    if len(missing) != 1 or any(m.reporter in m.missing for m in watched):
        return NO_RANKS
    (found,) = missing
    return found if len(found) == 1 and ranks_of(incident.own_failures) <= found else NO_RANKS


def as_held(incident: Incident, best: Finding) -> Ranks:
    """All whom the live judge saw holding others up, if the cause is its own word.

    Of two that miss each other one is wrong; nothing that is left afterwards tells which one.
    """
    held = (
        event.culprits
        for event in incident.all(HoldUp)
        if event.stage is Stage.CONFIRMED
        and len(event.culprits) > 1
        and event.source in best.evidence
    )
    return next(held, NO_RANKS)


def undo_tie(incident: Incident, cause: Cause, named: Ranks) -> Ranks:
    """The odd ranks by other evidence, where those that are named are both sides of a tie."""
    if cause not in OUT_OF_STEP or len(named) < 2 or 2 * len(named) <= len(incident.roster):
        return named
    found = _out_of_step(incident)
    return found if found & named else named


def _out_of_step(incident: Incident) -> Ranks:
    """The few that do or print something else than most, by stacks, else by their own lines."""
    stood = {s.rank: s for s in incident.stances if s.rank is not None}
    size = incident.world.size or len(incident.roster)
    if len(stood) == size > 1:
        places: dict[object, set[Rank]] = {}
        for rank, stance in stood.items():
            path = tuple((step.place, step.line) for step in stance.path)
            places.setdefault((stance.doing, stance.op, path), set()).add(rank)
        few = min(places.values(), key=len)
        if len(places) == 2 and 2 * len(few) < size:
            return frozenset(few)
    told = {event.ranks for event in incident.all(OneDiffers)}
    return next(iter(told)) if len(told) == 1 else NO_RANKS


def _ended_alone(incident: Incident) -> Ranks:
    """The only rank of which somebody saw that it ended by itself, and printed no reason."""
    own = [f for f in incident.own_failures if f.rank is not None]
    bare = [f for f in own if f.manner in _BARE and _is_bare(f)]
    return (
        frozenset({bare[0].rank})
        if len(own) == len(bare) == 1 and bare[0].rank is not None
        else NO_RANKS
    )


def _is_bare(failure: Failure) -> bool:
    return all(isinstance(event, ProcessEnded) for event in failure.events)


def _failed_alone(incident: Incident) -> Ranks:
    """The only rank that failed by itself, where every other one waited or was ended."""
    named, others = ranks_of(incident.own_failures), incident.gave_up | _victims(incident)
    told = frozenset(incident.roster) if len(others) >= _ENOUGH else None
    world = incident.world.ranks or told
    return named if len(named) == 1 and world is not None and world - named <= others else NO_RANKS


def _left_over(incident: Incident) -> Ranks:
    """The only rank that is not accounted for, where one error was printed that names nobody."""
    own = incident.own_failures
    errors = {_signature(f.events[0]) for f in own}
    if len(errors) != 1 or any(f.rank is not None for f in own):
        return NO_RANKS
    error = own[0].events[0]
    others = _went_on(incident, error) | incident.gave_up | _victims(incident)
    world = incident.world.ranks
    if world is None:
        known = others | frozenset(incident.roster)
        if len(others) < _ENOUGH:
            return NO_RANKS
        world = RankSpans.below(max(known) + 1)
    left = world - others
    return frozenset(left) if len(left) == 1 and others else NO_RANKS


def _before_its_echoes(incident: Incident) -> Ranks:
    """The first that left, where one error names nobody and all who left later lost their peer.

    As many said so as left later; so the one other error is that of the first.
    """
    own = incident.own_failures
    nameless = [f for f in own if f.rank is None and not _is_bare(f)]
    left = [(f.at, f) for f in own if f.rank is not None and f.manner is Manner.EXITED]
    dated = sorted(((at.seconds, f) for at, f in left if at is not None), key=lambda pair: pair[0])
    echoes = [f for f in incident.failures if f.manner is Manner.PEER and f.rank is None]
    if len(nameless) != 1 or len(dated) != len(left) or not 1 < len(left) == len(echoes) + 1:
        return NO_RANKS
    (first, failed), (second, _), *_ = dated
    read = order.is_before(nameless[0].events[0], failed.events[0])
    alone = second - first > _SAME_MOMENT_S and all(_is_bare(f) for _, f in left)
    return ranks_of([failed]) if alone and read is not False else NO_RANKS


def _by_device(incident: Incident) -> Ranks:
    """The only rank that failed, where the GPU that was full has its number.

    Each process that sees only its own GPU calls it 0, so that number tells nothing.
    """
    named = ranks_of(incident.own_failures)
    full = {e.device for e in incident.all(DeviceFault) if e.problem is DeviceProblem.OUT_OF_MEMORY}
    return named if len(named) == 1 and named == full and full != {0} else NO_RANKS


def _signature(event: Event) -> object:
    return event.exception if isinstance(event, PythonException) else type(event)


def _victims(incident: Incident) -> Ranks:
    """Ranks that ended because of another one."""
    ended = (f.rank for f in incident.failures if f.manner in VICTIM_MANNERS)
    return frozenset(rank for rank in ended if rank is not None)


def _went_on(incident: Incident, error: Event) -> Ranks:
    """Ranks that worked or waited on after an error, or whose processes were there after it.

    Other lines do not count: a rank that raised may still warn of what it leaves behind.
    """
    worked = frozenset(
        event.origin.rank
        for event in incident.events
        if event.origin.rank is not None
        and _lives_on(event)
        and order.is_before(error, event) is True
    )
    return worked | _on_gpus(incident)


def _lives_on(event: Event) -> bool:
    """Whether its speaker works, or waits for others."""
    if isinstance(event, LastLine):
        return event.waits_by_its_words
    return event.role in (Role.WORK, Role.ALARM)


def _on_gpus(incident: Incident) -> Ranks:
    """Ranks whose GPU has a process, on a host with one rank for each GPU.

    A table lists what lives when somebody looks, which is after the failure that made him look.
    """
    tables = {event.source.artifact for event in incident.all(GpuProcess)}
    found = [event.gpu for event in incident.all(GpuProcess)]
    size = incident.world.size or len(incident.roster)
    hosts = {fact.host for fact in incident.roster.values()} - {None}
    if len(tables) != 1 or len(hosts) > 1 or len(set(found)) != len(found):
        return NO_RANKS
    if size != len(found) + 1 or any(gpu >= size for gpu in found):
        return NO_RANKS
    return frozenset(map(Rank, found))
