"""A process ran out of host memory, or was killed the way the kernel does it when memory runs out.

## What it finds
An out-of-memory kill that the kernel, a cgroup, Slurm, Kubernetes or Ray reports; an allocation of
host memory that failed; or a rank that ended by SIGKILL (-9, 137) while nobody reports having sent
it: unhang then says which rank is gone, and memory is only the first guess.

## Why it hangs
SIGKILL leaves no traceback. The rank is simply gone, and the others wait in the next collective
until their watchdog ends them, or until the launcher notices.

## When it stays quiet
When the launcher had closed the process before (SIGKILL follows SIGTERM after 30 s), when the job
was stopped from outside, when every rank was killed (that is somebody's `kill -9` or `scancel`),
and when nothing ties a kill in the kernel log to the job: that log is the host's and goes back for
weeks. A bare SIGKILL is never proof; in the middle of loading or saving a model or of preparing
data, or where a data loader's worker was killed too, it is support.
Under `unhang run` memory is ruled out if the kernel counted no out-of-memory kill meanwhile.

## How to confirm
`dmesg -T | grep -i -E 'killed process|out of memory'` on the rank's host; `memory.events` of the
container's cgroup; `sacct -j JOB -o JobID,State,MaxRSS`.

## What to do
Fewer data-loader workers or smaller caches; load the checkpoint on one rank or with `mmap`; gather
full state dicts to rank 0 only; ask the scheduler for more memory for each task.

## References
Linux `oom_kill.c`; `signal(7)`: SIGKILL cannot be caught.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from unhang.model.incident import Failure, Manner, Tie, ranks_of
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.crash import kills
from unhang.rules.shared import consequences, rivals


@rule(
    "CRA002",
    "process-killed-for-memory",
    cause=Cause.HOST_OOM,
    needs={Fact.EXITS, Fact.KERNEL_LOG, Fact.EXCEPTIONS},
    explains=consequences.OF_A_LOST_RANK,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield the reported kills, else the unexplained SIGKILLs."""
    reported = [
        f
        for f in incident.failures
        if f.manner is Manner.HOST_OOM and not kills.was_outlived(incident, f)
    ]
    if reported:
        yield _reported(incident, reported)
        return
    strangers = [f for f in incident.strangers if f.manner is Manner.HOST_OOM]
    if strangers:
        yield _beside(strangers)
    killed = [f for f in incident.failures if f.manner is Manner.KILLED]
    if killed:
        yield from _killed(incident, killed)


def _reported(incident: Incident, failures: Sequence[Failure]) -> Finding:
    """Somebody says that memory was the reason."""
    first = failures[0]
    against = rivals.of_a_failure(incident, first, kills.is_same_kill)
    strength = Strength.HINTS
    if against is None:
        only_named = first.tie is Tie.NAME
        against = (
            say(
                "CRA002.against_only_named",
                "only its name or the time ties the killed process to this job",
            )
            if only_named
            else rivals.undated(incident, first)
        )
        strength = Strength.PROVES if against is None else Strength.SUPPORTS
        if against is None and kills.may_be_retried(incident, failures):
            strength = Strength.HINTS
            against = say(
                "CRA002.against_retried",
                "Ray starts what it killed for memory again, and nothing shows that the job ended",
            )
    ranks = ranks_of(failures) or kills.killed_there(incident, failures)
    return check.finding(
        strength,
        claim=say("CRA002.claim", "{ranks:ranks} ran out of host memory", **_who(ranks))
        if ranks
        else say("CRA002.claim_nobody", "a process of the job ran out of host memory"),
        why=say(
            "CRA002.why",
            "The kernel ends a process by SIGKILL when memory runs out. It leaves no"
            " traceback, and the others wait for it in the next collective.",
        ),
        against=against,
        culprits=ranks,
        culprit_hosts=frozenset(f.host for f in failures if f.host is not None),
        at=first.at,
        evidence=failures,
    )


def _beside(strangers: Sequence[Failure]) -> Finding:
    """Memory ran out on a host, at another time or for somebody else's process."""
    return check.finding(
        Strength.HINTS,
        claim=say(
            "CRA002.claim_beside",
            "a process on one of the job's hosts was killed because memory ran out",
        ),
        why=say(
            "CRA002.why",
            "The kernel ends a process by SIGKILL when memory runs out. It leaves no"
            " traceback, and the others wait for it in the next collective.",
        ),
        against=say(
            "CRA002.against_beside",
            "its name or its time suggests that it did not belong to this job",
        ),
        at=strangers[0].at,
        evidence=strangers,
    )


def _killed(incident: Incident, failures: Sequence[Failure]) -> Iterator[Finding]:
    """A bare SIGKILL: it is sure who is gone; memory is the usual sender, not the only one."""
    first, ranks = failures[0], ranks_of(failures)
    against = rivals.of_a_failure(incident, first)
    size = incident.world.size
    # A shell's or a launcher's own end names nobody, and repeats a kill that somebody else names.
    gone = len(ranks) or len(failures)
    if against is None and size is not None and 1 < size <= gone:
        against = say(
            "CRA002.against_everybody",
            "all processes were killed, as a person or a scheduler would do",
        )
    if against is None and any(kills.left_too(f, first) for f in incident.failures):
        against = say(
            "CRA002.against_others",
            "other processes exited with an error, and launchers kill the rest",
        )
    if kills.none_for_memory(incident, failures):
        yield check.finding(
            Strength.SUPPORTS,
            cause=None,
            claim=say(
                "CRA002.claim_sent",
                "{ranks:ranks} was killed by SIGKILL, and not because host memory ran out",
                **_who(ranks),
            )
            if ranks
            else say(
                "CRA002.claim_sent_nobody",
                "a process was killed by SIGKILL, and not because host memory ran out",
            ),
            why=say(
                "CRA002.why_sent",
                "The kernel counts its out-of-memory kills, and counted none while the job ran: "
                "a person, a monitor or a scheduler sent it.",
            ),
            against=against,
            culprits=ranks,
            at=first.at,
            evidence=failures,
        )
        return
    finding = check.finding(
        Strength.HINTS,
        claim=say(
            "CRA002.claim_killed",
            "{ranks:ranks} was killed by SIGKILL, most likely because host memory ran out",
            **_who(ranks),
        )
        if ranks
        else say(
            "CRA002.claim_killed_nobody",
            "a process was killed by SIGKILL, most likely because host memory ran out",
        ),
        why=say(
            "CRA002.why_killed",
            "Nothing in the logs sent this SIGKILL: no launcher, no scheduler, no person. The"
            " kernel's out-of-memory killer is the usual sender.",
        ),
        against=against
        or say(
            "CRA002.against_sender",
            "a person or a monitor can send SIGKILL too; the kernel log decides",
        ),
        culprits=ranks,
        at=first.at,
        evidence=failures,
        collect=(kills.KERNEL_LOG,),
    )
    if against is None and kills.memory_was_needed(incident):
        yield replace(finding, strength=Strength.SUPPORTS, explains=check.explains)
        return
    if against is None:
        yield replace(finding, cause=None, strength=Strength.SUPPORTS)
    yield finding


def _who(ranks: frozenset[int]) -> dict[str, object]:
    return {"ranks": ranks} if ranks else {}
