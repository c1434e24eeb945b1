"""What files say of a job that nothing ties to it: they may explain it, and never convict it."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.assemble.beside import Parted
from unhang.assemble.given_files import is_asked_for
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis
from unhang.model.events import (
    TROUBLE,
    Event,
    Finished,
    GpuState,
    GpuUuid,
    KernelEvent,
    KernelProblem,
    Progress,
    StepsTimed,
)
from unhang.model.incident import Incident, Manner
from unhang.model.phases import Phase

_OF_A_HOST = (KernelEvent, GpuState, GpuUuid)
"""What a kernel tells, and which GPU it tells it of."""


def may_say_more(parted: Parted, found: Diagnosis) -> bool:
    """Whether loose files may say more of what stands.

    Who shuts down may have come to its end, or raised: its own error tells. Where a program only
    saw its GPU fail, a kernel's word on it may be at hand.
    """
    if found.phase is Phase.TEARDOWN:
        return True
    return found.cause is Cause.GPU_KERNEL_FAULT and any(
        isinstance(event, KernelEvent) and event.problem is KernelProblem.XID
        for event in parted.events
        if event.source.artifact in parted.loose
    )


def that_explain(parted: Parted, found: Diagnosis, incident: Incident) -> Sequence[Event]:
    """The events with those of loose files that may decide.

    What a kernel tells of its host may explain a failure of the job, but makes none, and blames no
    rank that spoke and that something else has found. That of a host that no file of the job names
    may be the host of a rank that nobody heard of, and of no other. What programs tell may explain
    a job that stops without a word; a job that tells of trouble itself has need of nobody else's,
    unless it only lost a peer, and one scheduler answers who ended a job.
    """
    explained = found.failed and found.culprits.isdisjoint(found.coverage.ranks_seen)
    if explained and _misses_ranks(found):
        foreign = frozenset[str]()
    else:
        foreign = parted.strangers if explained else parted.loose
    troubled = any(
        event.role in TROUBLE and not isinstance(event, Finished)
        for event in parted.without_loose()
    )
    speaking = parted.loose if troubled else parted.named
    lost = _lost_a_peer(incident)
    # One file in which a scheduler answers who ended a job: whose, if not this one's?
    answers = {
        event.source.artifact
        for event in parted.events
        if event.source.artifact in parted.loose and is_asked_for(event)
    }
    return [
        event
        for event in parted.events
        if isinstance(event, StepsTimed)
        or (lost and len(answers) == 1 and is_asked_for(event))
        or event.source.artifact not in (foreign if isinstance(event, _OF_A_HOST) else speaking)
    ]


def _lost_a_peer(incident: Incident) -> bool:
    """Whether the last that is heard of the job is that a process lost another one."""
    lost = [f.source for f in incident.failures if f.manner is Manner.PEER]
    worked = [e.source for e in incident.all(Progress)]
    return any(
        not any(w.artifact == f.artifact and (w.line or 0) > (f.line or 0) for w in worked)
        for f in lost
    )


def _misses_ranks(found: Diagnosis) -> bool:
    """Whether nothing was seen of a rank, of those that were told or those between them."""
    seen = found.coverage.ranks_seen
    return len(found.coverage.ranks_silent) > 0 or (len(seen) > 0 and max(seen) >= len(seen))
