"""The timeout is shorter than the legitimate work: nothing else is wrong.

## What it finds
Work under way at the time-out whose own bar says that it would have ended within another timeout;
ranks that counted on, towards an end as near, all the time that the others waited; work that is
done again and again within the timeout, and ended after it the last time; training whose single
step takes about as long as the timeout; or a timeout of a second and less.

## Why it hangs
The watchdog measures time, not progress. Work that is finite and advancing is ended because the
limit was chosen (often by default, or for a sub-group that does not inherit it) without knowing it.

## When it stays quiet
When the work's end is not in sight, and when a process failed first or ranks issued different
calls. What kept the rank busy is for the other slow rules to say: this one only adds that a longer
timeout would have been enough, so it is a hint beside them. Where no
label tells the kind of work, one rank must have advanced in it all the time, towards an end.

## How to confirm
Raise the timeout of the group that waits, once. The same sequence number again after a longer wait
means that it was not slowness.

## What to do
Give the process group (not only the default one: sub-groups do not inherit it) a timeout above the
longest legitimate step, save or evaluation.

## References
`torch.distributed.init_process_group(timeout=…)`, `torch.distributed.new_group(timeout=…)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang.model.events import Event, Progress
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.slow.bar_of_wait import find_bar_of_wait, owner_of
from unhang.rules.slow.measured_work import counts_in_wait, last_step, outgrown
from unhang.rules.slow.rank_at_work import CAUSES
from unhang.rules.slow.waiting import OthersWait, WaitKind, find_wait, measured_s
from unhang.rules.slow.work import find_work
from unhang.rules.slow.work_strength import Fit, find_rival, fit

_WORK = frozenset(Phase) - {Phase.TRAIN}
_NO_LIMIT_S = 1.0
"""Start-up, a garbage collection or a page fault takes as long: nobody means such a limit, whose
unit was mistaken."""
_LONG_STEP = 0.8
"""Share of the timeout from which a step is as long as the timeout."""
_LEAST_S = 60.0
"""Work of unknown kind is told for no shorter timeout."""
_ENDS_WORK = say(
    "SLO005.claim_work", "the timeout of {limit_s:s} ends work that needs {seconds:s} more"
)

_ENDED = say(
    "SLO005.claim_ended",
    "work that ended by itself took {seconds:s}, longer than the timeout of {limit_s:s}",
)


@rule(
    "SLO005",
    "work-would-have-ended-soon",
    cause=Cause.TIMEOUT_SHORT,
    needs={Fact.PHASES, Fact.TIMEOUTS},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield a finding when the work would have ended soon, or a step is as long as the limit."""
    wait = find_wait(incident)
    if wait is None or wait.limit_s is None:
        return
    if 0 < wait.limit_s <= _NO_LIMIT_S:
        yield _finding(
            wait,
            wait.alarm,
            Strength.SUPPORTS if find_rival(incident, wait) is None else Strength.HINTS,
            say(
                "SLO005.claim_tiny",
                "the timeout is {limit_s:s}: no collective is sure to end within it",
            ),
            wait.limit_s,
        )
        return
    told = _measured(incident, wait, wait.limit_s)
    if told is not None:
        yield told
        return
    work = find_work(incident, wait, _WORK)
    if work is not None and work.bar is not None and fit(work, wait) is Fit.FITS:
        left_s = work.bar.remaining_s
        if left_s is not None and left_s <= wait.limit_s:
            yield _finding(wait, work.bar, Strength.HINTS, _ENDS_WORK, left_s)
    elif work is None:
        yield from _advancing(incident, wait, wait.limit_s)
        yield from _long_step(incident, wait, wait.limit_s)


def _measured(incident: Incident, wait: OthersWait, limit_s: float) -> Finding | None:
    """Counts that go on while the others wait, or work that once took longer than they wait."""
    if limit_s < _LEAST_S or find_rival(incident, wait) is not None:
        return None
    counts = counts_in_wait(incident, wait, measured_s(wait) or limit_s)
    if counts and (left_s := max(count.left_s for count in counts)) <= limit_s:
        found = _finding(wait, counts[0].last, Strength.SUPPORTS, _ENDS_WORK, left_s)
        return replace(found, culprits=frozenset(count.rank for count in counts))
    mark, seconds = outgrown(incident, wait, limit_s) or (None, 0.0)
    if mark is None:
        return None
    # What a job generates to learn from is its main work.
    cause = None if mark.phase is Phase.GENERATE else CAUSES.get(mark.phase)
    found = _finding(wait, mark, Strength.SUPPORTS, _ENDED, seconds)
    who = frozenset() if wait.missing is None else frozenset({wait.missing})
    return replace(found, cause=cause or check.cause, phase=mark.phase, culprits=who)


def _advancing(incident: Incident, wait: OthersWait, limit_s: float) -> Iterator[Finding]:
    """Work of unknown kind whose end was in sight when the others gave up.

    Whatever it was, it advanced all the time that they waited, and nothing else is seen to fail.
    """
    states = find_bar_of_wait(incident, wait, measured_s(wait) or limit_s)
    left_s = states[-1].remaining_s if states else None
    if left_s is None or find_rival(incident, wait) is not None:
        return
    culprits = owner_of(incident, wait, states[-1])
    if culprits and limit_s >= _LEAST_S:
        found = _finding(wait, states[-1], Strength.SUPPORTS, _ENDS_WORK, left_s)
        yield replace(found, culprits=culprits)


def _long_step(incident: Incident, wait: OthersWait, limit_s: float) -> Iterator[Finding]:
    """Training in which one step takes about the timeout."""
    bar, step_s = last_step(incident, wait)
    if bar is None or wait.kind is WaitKind.SETUP or step_s < _LONG_STEP * limit_s:
        return
    longer = step_s >= limit_s and find_rival(incident, wait) is None
    yield _finding(
        wait,
        bar,
        Strength.SUPPORTS if longer else Strength.HINTS,
        say(
            "SLO005.claim_step",
            "one training step takes {seconds:s}, as long as the timeout of {limit_s:s}",
        ),
        step_s,
    )


def _finding(
    wait: OthersWait, shown: Event, strength: Strength, claim: Message, seconds: float
) -> Finding:
    return check.finding(
        strength,
        claim=claim.using(seconds=seconds, limit_s=wait.limit_s),
        why=say(
            "SLO005.why",
            "The work advances and is finite; the watchdog measures time, not progress.",
        ),
        phase=shown.phase if isinstance(shown, Progress) else None,
        at=shown.at,
        call=wait.call,
        evidence=[shown, wait.alarm],
    )
