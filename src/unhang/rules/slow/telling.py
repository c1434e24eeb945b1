"""From work under way to a finding of one of the slow rules."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.causes import Cause
from unhang.model.events import Charge, StackSeen, Stage
from unhang.model.finding import Finding, Strength
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Incident
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.rules import order, watched
from unhang.rules.slow.waiting import Wait, find_wait
from unhang.rules.slow.weighing import Fit, fit, is_missing, ranks_differ, weigh
from unhang.rules.slow.work import Work, find_work

_ECHOES = frozenset(
    {
        Cause.TIMEOUT_SHORT,
        Cause.RENDEZVOUS,
        Cause.NET_INTERFACE,
        Cause.BANDWIDTH_LOW,
        Cause.UNEVEN_WORK,
        Cause.PG_DEADLOCK,
        Cause.RANK_EXCEPTION,
        Cause.RANK_CRASH,
    }
)
"""A rank that comes late makes the others give up, raise, abort and close their connections."""


def tell(
    incident: Incident, code: str, cause: Cause, phases: frozenset[Phase]
) -> Iterator[Finding]:
    """Yield the findings of one rule: from bars and marks, and from live stacks."""
    if _is_idle(incident):
        return
    wait = find_wait(incident)
    work = None if wait is None else find_work(incident, wait, phases)
    if wait is not None and work is not None:
        yield _from_work(incident, code, cause, work, wait)
    yield from _from_stacks(incident, code, cause, phases, wait)


def _is_idle(incident: Incident) -> bool:
    """Whether the live judge saw the late ranks stopped or ended: no work of theirs lasted."""
    charges = (Charge.STOPPED, Charge.GONE, Charge.RAISED, Charge.LEFT)
    return any(e.stage is Stage.CONFIRMED for e in watched.hold_ups(incident, *charges))


def _from_work(incident: Incident, code: str, cause: Cause, work: Work, wait: Wait) -> Finding:
    strength, against = weigh(incident, work, wait)
    culprits = _culprits(work, wait, strength)
    return Finding(
        rule=code,
        cause=cause,
        strength=strength,
        claim=_claim(code, culprits, work.phase.detail or work.phase.phase.value),
        why=_why(work, wait),
        against=against,
        culprits=culprits,
        phase=work.phase.phase,
        explains=frozenset() if strength is Strength.HINTS else _ECHOES,
        at=work.phase.since or work.mark.at,
        call=wait.call,
        evidence=(work.mark.source, wait.alarm.source),
    )


def _from_stacks(
    incident: Incident, code: str, cause: Cause, phases: frozenset[Phase], wait: Wait | None
) -> Iterator[Finding]:
    """A stack taken while it hangs shows a rank at work; several are compared by SLO201."""
    if sum(s.rank is not None for s in incident.stances) > 1:
        return
    stacks = [
        s
        for s in incident.all(StackSeen)
        if s.phase in phases and not s.waiting and not _gave_up(incident, s, wait)
    ]
    if not stacks or (wait is None and phases != {Phase.COMPILE}):
        return
    failed = any(f.manner in order.DECISIVE for f in incident.failures)
    strength, against = Strength.SUPPORTS, None
    if failed or ranks_differ(incident):
        strength = Strength.HINTS
        against = Message(key="SLO.against_failure" if failed else "SLO.against_desync")
    elif wait is not None:
        strength = Strength.PROVES
    culprits = frozenset(r for s in stacks if (r := _rank_of(incident, s)) is not None)
    yield Finding(
        rule=code,
        cause=cause,
        strength=strength,
        claim=_claim(code, culprits, stacks[0].frame),
        why=Message(key="SLO.why_stack", values={"frame": stacks[0].frame}),
        against=against,
        culprits=culprits,
        phase=stacks[0].phase,
        explains=frozenset() if strength is Strength.HINTS else _ECHOES,
        at=stacks[0].at,
        call=None if wait is None else wait.call,
        evidence=tuple(s.source for s in stacks)[:4],
    )


def _gave_up(incident: Incident, stack: StackSeen, wait: Wait | None) -> bool:
    """Whether the rank that stands there is the one that gave up waiting itself."""
    if wait is None:
        return False
    rank = _rank_of(incident, stack)
    return rank is not None and rank in wait.ranks | {wait.alarm.origin.rank}


def _rank_of(incident: Incident, stack: StackSeen) -> Rank | None:
    """The rank of a process, by its own word, by its pid, or by the head of its file."""
    origin = stack.origin
    if origin.rank is not None:
        return origin.rank
    if origin.pid is not None:
        return next((f.rank for f in incident.roster.values() if origin.pid in f.pids), None)
    artifact = stack.source.artifact
    ranks = {s.rank for s in incident.stances if s.source.artifact == artifact}
    return ranks.pop() if len(ranks) == 1 else None


def _culprits(work: Work, wait: Wait, strength: Strength) -> Ranks:
    """The rank that shows the work, else the one that the others name or that alone is missing."""
    if strength is Strength.HINTS:
        return NO_RANKS
    if work.phase.rank is not None:
        return frozenset({work.phase.rank})
    if not wait.awaited and wait.missing is not None and is_missing(work, wait):
        return frozenset({wait.missing})
    return wait.awaited


def _claim(code: str, culprits: Ranks, detail: str) -> Message:
    if culprits:
        return Message(key=f"{code}.claim_ranks", values={"ranks": culprits, "detail": detail})
    return Message(key=f"{code}.claim", values={"detail": detail})


def _why(work: Work, wait: Wait) -> Message:
    values = {"lasted_s": work.lasted_s, "limit_s": wait.limit_s}
    if fit(work, wait) is Fit.FITS:
        if wait.limit_s is None:
            return Message(key="SLO.why_default", values=values)
        key = "SLO.why_mark" if work.bar is None else "SLO.why_bar"
        return Message(key=key, values=values)
    if work.phase.rank is not None and wait.awaited == {work.phase.rank}:
        return Message(key="SLO.why_named", values={"ranks": wait.awaited})
    if wait.missing is not None and is_missing(work, wait):
        return Message(key="SLO.why_missing", values={"ranks": frozenset({wait.missing})})
    return Message(key="SLO.why_last")
