"""From work under way to a finding of one of the slow rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang.model.events import StackSeen, Stage, StoreFault, SuspicionReason
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Finding, Incident, Message, Rule, Strength, say
from unhang.rules.shared import consequences, order, speakers, watched
from unhang.rules.slow.bar_of_wait import owner_of
from unhang.rules.slow.waiting import OthersWait, find_wait
from unhang.rules.slow.work import Work, find_work
from unhang.rules.slow.work_strength import (
    Fit,
    fit,
    is_elsewhere,
    is_missing,
    ranks_differ,
    weigh,
)

_SEVERAL = 2
_EXPLAINED = consequences.OF_WORK_THAT_LASTS | {Cause.UNEVEN_WORK}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRule:
    """What one rule on work that outlasts the others' wait is about, and what it says.

    Attributes:
        rule: the rule.
        phases: the work.
        claim_ranks: what is said of ranks; `{detail}` is the text or the frame that shows it.
        claim: the same where no rank is known.
    """

    rule: Rule
    phases: frozenset[Phase]
    claim_ranks: Message
    claim: Message


def tell(incident: Incident, about: WorkRule) -> Iterator[Finding]:
    """Yield the findings of one rule: from bars and marks, and from live stacks."""
    if _is_idle(incident):
        return
    wait = find_wait(incident)
    work = None if wait is None else find_work(incident, wait, about.phases)
    if wait is not None and work is not None:
        yield _from_work(incident, about, work, wait)
    yield from _from_stacks(incident, about, wait)


def _is_idle(incident: Incident) -> bool:
    """Whether the live judge saw the late ranks stopped or ended: no work of theirs lasted."""
    charges = (
        SuspicionReason.STOPPED,
        SuspicionReason.GONE,
        SuspicionReason.RAISED,
        SuspicionReason.LEFT,
    )
    return any(e.stage is Stage.CONFIRMED for e in watched.hold_ups(incident, *charges))


def _from_work(incident: Incident, about: WorkRule, work: Work, wait: OthersWait) -> Finding:
    strength, against = weigh(incident, work, wait)
    culprits = _culprits(incident, work, wait, strength)
    return about.rule.finding(
        strength,
        claim=_claim(about, culprits, work.phase.detail or work.phase.phase.value),
        why=_why(work, wait),
        against=against,
        culprits=culprits,
        phase=work.phase.phase,
        explains=_EXPLAINED,
        at=work.phase.since or work.mark.at,
        call=wait.call,
        evidence=[work.mark, wait.alarm],
    )


def _from_stacks(incident: Incident, about: WorkRule, wait: OthersWait | None) -> Iterator[Finding]:
    """A stack taken while it hangs shows a rank at work; several are compared by SLO201."""
    if sum(s.rank is not None for s in incident.stances) > 1:
        return
    stacks = [
        s
        for s in incident.all(StackSeen)
        if s.phase in about.phases and not s.waiting and not _gave_up(incident, s, wait)
    ]
    if not stacks or (wait is None and about.phases != {Phase.COMPILE}):
        return
    failed = any(f.manner in order.DECISIVE for f in incident.failures)
    strength, against = Strength.SUPPORTS, None
    if failed or ranks_differ(incident):
        strength = Strength.HINTS
        against = (
            say("SLO.against_failure", "Something else failed, perhaps earlier.")
            if failed
            else say("SLO.against_desync", "Ranks issued different calls, or run different models.")
        )
    elif wait is not None:
        merely_waits = isinstance(wait.alarm, StoreFault) and not wait.alarm.gave_up
        strength = Strength.SUPPORTS if merely_waits else Strength.PROVES
    culprits = frozenset(r for s in stacks if (r := _rank_of(incident, s)) is not None)
    yield about.rule.finding(
        strength,
        claim=_claim(about, culprits, stacks[0].frame),
        why=say(
            "SLO.why_stack", "A live stack shows the process in `{frame}`.", frame=stacks[0].frame
        ),
        against=against,
        culprits=culprits,
        phase=stacks[0].phase,
        explains=_EXPLAINED,
        at=stacks[0].at,
        call=None if wait is None else wait.call,
        evidence=stacks,
    )


def _gave_up(incident: Incident, stack: StackSeen, wait: OthersWait | None) -> bool:
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


def _culprits(incident: Incident, work: Work, wait: OthersWait, strength: Strength) -> Ranks:
    """The rank that shows the work, else the one that the others name or that alone is missing."""
    if strength is Strength.HINTS:
        return NO_RANKS
    if work.phase.rank is not None:
        return _all_at_it(incident, work, wait) or frozenset({work.phase.rank})
    if is_elsewhere(incident, work, wait):
        return _alone_on(incident, work.mark.origin.host) or _alone_in_file(incident, work)
    if not wait.awaited and wait.missing is not None and is_missing(work, wait):
        return frozenset({wait.missing})
    if not wait.awaited and work.bar is not None and fit(work, wait) is Fit.FITS:
        return owner_of(incident, wait, work.bar)
    return wait.awaited


def _all_at_it(incident: Incident, work: Work, wait: OthersWait) -> Ranks:
    """All ranks at this work where it is a node's: they count apart from those that wait."""
    ranks = frozenset(
        p.rank
        for p in incident.open_phases
        if p.phase is work.phase.phase and p.unfinished and p.exclusive and p.rank is not None
    )
    if len(ranks) < _SEVERAL or not wait.ranks or wait.awaited:
        return NO_RANKS
    apart = min(ranks) > max(wait.ranks) or max(ranks) < min(wait.ranks)
    return speakers.whole_nodes(incident, ranks, 1) or ranks if apart else NO_RANKS


def _alone_on(incident: Incident, host: str | None) -> Ranks:
    """The rank of a host where each host has one, as far as is known."""
    hosts = [fact.host for fact in incident.roster.values() if fact.host is not None]
    size = incident.world.size or len(incident.roster)
    if len(hosts) != size or len(set(hosts)) != size:
        return NO_RANKS
    return frozenset(rank for rank, fact in incident.roster.items() if fact.host == host)


def _alone_in_file(incident: Incident, work: Work) -> Ranks:
    """The only rank that speaks in the file of the work."""
    here = frozenset(
        e.origin.rank
        for e in incident.events
        if e.source.artifact == work.mark.source.artifact and e.origin.rank is not None
    )
    return here if len(here) == 1 else NO_RANKS


def _claim(about: WorkRule, culprits: Ranks, detail: str) -> Message:
    if culprits:
        return about.claim_ranks.using(ranks=culprits, detail=detail)
    return about.claim.using(detail=detail)


def _why(work: Work, wait: OthersWait) -> Message:
    values = {"lasted_s": work.lasted_s, "limit_s": wait.limit_s}
    if fit(work, wait) is Fit.FITS:
        if wait.limit_s is None:
            return say(
                "SLO.why_default",
                "The work has lasted {lasted_s:s} and is not done: as long as a default"
                " timeout, or longer.",
                **values,
            )
        if work.bar is None:
            return say(
                "SLO.why_mark",
                "The work began {lasted_s:s} before the first time-out and no line says"
                " that it ended; the timeout is {limit_s:s}.",
                **values,
            )
        return say(
            "SLO.why_bar",
            "The work has lasted {lasted_s:s} and is not done; the others give up"
            " after {limit_s:s}.",
            **values,
        )
    if work.phase.rank is not None and wait.awaited == {work.phase.rank}:
        return say(
            "SLO.why_named",
            "The waiting ranks name {ranks:ranks} as the one they wait for.",
            ranks=wait.awaited,
        )
    if wait.missing is not None and is_missing(work, wait):
        return say(
            "SLO.why_missing",
            "It is the last thing that {ranks:ranks} is known to have begun, no line says that"
            " it ended, and every other rank gave up waiting.",
            ranks=frozenset({wait.missing}),
        )
    return say(
        "SLO.why_last",
        "It is the last thing printed before the first time-out, no line says that it ended,"
        " and the others wait where nobody works.",
    )
