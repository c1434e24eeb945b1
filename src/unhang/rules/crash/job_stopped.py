"""The job was stopped from outside; what fails afterwards is the echo.

## What it finds
Ctrl-C, `scancel`, a scheduler's time limit, preemption, eviction, a host that an autoscaler, a
drain or the cloud takes away, SIGTERM or SIGHUP at the launcher, or a data loader's workers killed
by `Hangup` (a closed session).

## Why it hangs
A stop rarely reaches all processes. The orphans wait in their next collective for ranks that are
gone, and report a time-out ten or thirty minutes later: they look guilty and are not. Processes
that are torn down print exceptions of broken pipes and half-started workers.

## When it stays quiet
When something had failed or timed out before the stop, when the live judge had seen ranks wait for
one that did not move, when stacks show ranks that wait and no other, or ranks had waited in one
collective since long before it: then somebody ended a job that hung. It is a hint when the job had
been silent for a long time, when it never showed any work before an interrupt or a time limit, when
Ctrl-C found a rank waiting in a collective or no time shows how long nothing had moved, when
another run in the log was made to compare, and for a plain cancellation unless steps were printed
even after it.
SIGTERM that a launcher sends to the ranks after another one's failure is not a stop.

## How to confirm
`sacct -j JOB -o JobID,State,ExitCode,End`; the shell's history; the times of the first failure and
of the stop.

## What to do
Nothing in the job needs a cure. Run it under `tmux`, `nohup` or a batch script; ask for a longer
limit, or save a checkpoint on the warning signal (`--signal=B:USR1@120`). End orphans before the
next start.

## References
`torch/distributed/elastic/agent/server/api.py` (death signals); `scancel(1)`, `sbatch(1)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from unhang.model.events import (
    CollectiveTimeout,
    HoldUp,
    SettingTried,
    Stage,
    StopKind,
    StopSeen,
)
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.crash.reach_of_stop import (
    WITHOUT_CHOICE,
    by_launcher,
    finished_afterwards,
    out_of_memory,
    removed,
    stopped,
    told_again,
    was_answered,
    went_on,
)
from unhang.rules.crash.signs_of_work import (
    interrupted_at_work,
    interrupted_in_wait,
    silent_s,
    stood_waiting,
    stuck_s,
    worked,
)
from unhang.rules.shared import consequences, order, rivals

_QUIET_S = 900.0
"""Longer silence before a stop looks like a hang that somebody ended."""
_SLACK_S = 120.0
_CLAIMS = {
    StopKind.INTERRUPT: say(
        "CRA005.claim_interrupt", "the job was interrupted from outside (Ctrl-C)"
    ),
    StopKind.CANCELLED: say("CRA005.claim_cancelled", "the job was cancelled"),
    StopKind.TIME_LIMIT: say("CRA005.claim_time_limit", "the job ran into its time limit"),
    StopKind.PREEMPTED: say("CRA005.claim_preempted", "the job was preempted"),
    StopKind.TERMINATED: say(
        "CRA005.claim_terminated", "the job was terminated from outside (SIGTERM)"
    ),
    StopKind.HANGUP: say("CRA005.claim_hangup", "the session of the job was closed (SIGHUP)"),
    StopKind.EVICTED: say("CRA005.claim_evicted", "the job's pod was evicted"),
    StopKind.REMOVED: say(
        "CRA005.claim_removed", "a host was taken from the job (drained, scaled down or reclaimed)"
    ),
}


@rule(
    "CRA005",
    "job-stopped-from-outside",
    cause=Cause.EXTERNAL_STOP,
    needs={Fact.STOPS},
    explains=consequences.OF_A_STOP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first stop."""
    found = order.stops(incident)
    first = order.earliest(found)
    if first is None or by_launcher(incident, first) or finished_afterwards(incident, first):
        return
    first = replace(first, at=first.at or told_again(first, found))
    orphans = tuple(t for t in incident.timeouts if order.is_before(first, t))
    against = _against(incident, first, orphans)
    strength = Strength.PROVES if against is None else Strength.HINTS
    if against is None and (undated := rivals.undated(incident, first)) is not None:
        strength, against = Strength.SUPPORTS, undated
    if against is None and (untimed := rivals.untimed(incident, first)) is not None:
        strength, against = Strength.HINTS, untimed
    if against is None and not orphans and _blind(incident, first):
        by_hand = first.kind is StopKind.INTERRUPT or _was_repeated(incident)
        by_hand = by_hand and not was_answered(incident, first)
        by_hand = by_hand and not (worked(incident, first) and interrupted_at_work(incident))
        strength, against = (
            Strength.HINTS if by_hand else Strength.SUPPORTS,
            say(
                "CRA005.against_blind",
                "without times, nobody can tell whether work was still going on",
            ),
        )
        if interrupted_in_wait(incident):
            strength, against = (
                Strength.HINTS,
                say("CRA005.against_waiting", "the interrupt found a rank waiting in a collective"),
            )
    yield check.finding(
        strength,
        claim=_CLAIMS[first.kind],
        why=say(
            "CRA005.why_orphans",
            "The stop did not reach all processes. Those that it missed waited for the"
            " others and timed out: they are orphans, not the cause.",
        )
        if orphans
        else say(
            "CRA005.why",
            "Nothing was wrong before the stop; what failed afterwards is its echo.",
        ),
        against=against,
        culprits=stopped(incident) or removed(incident, first),
        at=first.at,
        evidence=[first, *orphans[:2]],
    )


def _against(
    incident: Incident, stop: StopSeen, orphans: Sequence[CollectiveTimeout]
) -> Message | None:
    """What makes the stop the end of a job that was in trouble anyway, or None."""
    if any(e.stage is not Stage.WATCHED for e in incident.all(HoldUp)):
        return say(
            "CRA005.against_hang",
            "ranks waited for one that did not move before somebody stopped the job",
        )
    if stood_waiting(incident) and stop.kind not in WITHOUT_CHOICE:
        return say(
            "CRA005.against_stacks", "stacks show ranks waiting for others, and none at work"
        )
    if order.trouble_before(incident, stop) is not None or out_of_memory(incident, stop):
        return say(
            "CRA005.against_trouble", "the job had failed or timed out before somebody stopped it"
        )
    if any(stuck_s(t, stop) > _SLACK_S for t in orphans):
        return say(
            "CRA005.against_stuck", "ranks had waited in one collective since long before the stop"
        )
    if orphans or stop.kind in WITHOUT_CHOICE:
        return None
    if (silent_s(incident, stop) or 0.0) > _QUIET_S:
        return say("CRA005.against_silence", "the job had long been silent before it was stopped")
    if stop.kind is StopKind.CANCELLED and not went_on(incident, stop):
        return say(
            "CRA005.against_cancel", "a cancellation alone does not tell whether anything was wrong"
        )
    told = stop.kind is StopKind.TERMINATED or worked(incident, stop)
    if told or was_answered(incident, stop):
        return None
    return say(
        "CRA005.against_no_work", "nothing shows that the job was working before it was stopped"
    )


def _was_repeated(incident: Incident) -> bool:
    """Whether the log shows another run that did not hang: who stops one, does so to compare."""
    return any(trial.measured for trial in incident.all(SettingTried))


def _blind(incident: Incident, stop: StopSeen) -> bool:
    """A stop without times: whether work was still going on cannot be told."""
    return stop.kind not in WITHOUT_CHOICE and silent_s(incident, stop) is None
