"""From an end in a kernel log to what ties it to the job.

A kernel log is its host's, not the job's: it goes back for weeks and tells of every process that
ended badly there. A pid or a second witness makes such an end the job's; else a name and the time
must do.
"""

from __future__ import annotations

from collections.abc import Sequence

from unhang.assemble.run import Run
from unhang.model.events import CollectiveTimeout, Event, KernelEvent, Progress
from unhang.model.incident import Tie

_JOB_PROGRAMS = ("python", "pt_", "pt2", "torch", "ray", "train", "deepspeed", "accelerate", "all_")
_STATES_OF_WORK = 3
"""A bar may show one state more from a buffer, and a step that was under way another."""
_SOON_S = 300.0
"""Ranks wait for a rank that is gone when they next need it: after a step …"""
_LATE_S = 1_800.0
"""… or after an evaluation or a save of their own."""


def is_of_a_job_by_name(event: KernelEvent) -> bool:
    """Whether trainings have such a name; one that is not told may be anybody's, so theirs too."""
    return event.process is None or event.process.lower().startswith(_JOB_PROGRAMS)


def find_tie(told: Sequence[Event], run: Run) -> Tie:
    """What ties a process to the job of which these events tell.

    Args:
        told: all that tells of one process.
        run: the job.
    """
    ends = [e for e in told if isinstance(e, KernelEvent)]
    if len(ends) < len(told) or any(run.identity.rank_of(e) is not None for e in ends):
        return Tie.TOLD
    end = ends[0]
    pids = {e.origin.pid for e in run.events if not isinstance(e, KernelEvent)}
    if end.pid is not None and end.pid in pids:
        return Tie.TOLD
    if _worked_on(end, run):
        return Tie.NONE
    wait_s = _waited_after_s(end, run)
    if wait_s is not None and wait_s > _LATE_S:
        return Tie.NONE
    if is_of_a_job_by_name(end):
        return Tie.NAME if wait_s is None else Tie.TIME
    return Tie.NONE if wait_s is None or wait_s > _SOON_S else Tie.NAME


def _worked_on(end: KernelEvent, run: Run) -> bool:
    """Whether bars and steps show the job at work after it."""
    states = {
        event.done
        for event in run.events
        if isinstance(event, Progress)
        and run.timeline.gap_s(event, end) is not None
        and run.timeline.before(end, event)
    }
    return len(states) >= _STATES_OF_WORK


def _waited_after_s(end: KernelEvent, run: Run) -> float | None:
    """Seconds from it to the first wait that was given up; None where clocks cannot be compared."""
    waits = [
        gap - (event.elapsed_ms or 0) / 1_000
        for event in run.events
        if isinstance(event, CollectiveTimeout)
        and (gap := run.timeline.gap_s(event, end)) is not None
    ]
    return min(waits, default=None)
