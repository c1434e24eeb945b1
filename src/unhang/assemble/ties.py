"""From an end in a kernel log to what ties it to the job.

A kernel log is its host's, not the job's: it goes back for weeks and tells of every process that
ended badly there. A pid or a second witness makes such an end the job's; else a name and the time
must do.
"""

from __future__ import annotations

from collections.abc import Sequence

from unhang.assemble.run import Run
from unhang.model.events import (
    CollectiveTimeout,
    Event,
    KernelEvent,
    KernelProblem,
    Progress,
    ThreadStack,
)
from unhang.model.events.course import STATES_OF_WORK
from unhang.model.incident import Tie
from unhang.model.waiting import first_wait_after_s, worked_on_after

_JOB_PROGRAMS = ("python", "pt_", "pt2", "torch", "ray", "train", "deepspeed", "accelerate", "all_")
_SOON_S = 300.0
"""Ranks wait for a rank that is gone when they next need it, mostly after a step."""


def _has_a_training_s_name(event: KernelEvent) -> bool:
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
    if _is_no_rank_s(end, run):
        return Tie.NONE
    at = run.timeline.time_of(end)
    timeouts = [e for e in run.events if isinstance(e, CollectiveTimeout)]
    if _works(end, run) or (at is not None and worked_on_after(at, timeouts)):
        return Tie.NONE
    wait_s = None if at is None else first_wait_after_s(at, timeouts)
    if _has_a_training_s_name(end):
        return Tie.NAME if wait_s is None else Tie.TIME
    return Tie.NONE if wait_s is None or wait_s > _SOON_S else Tie.NAME


def _is_no_rank_s(end: KernelEvent, run: Run) -> bool:
    """Whether every rank is alive, or the name is another program's.

    What crashed then is another job's, or a helper whose rank prints that it lost it. A helper that
    was killed for memory may leave its rank hanging.
    """
    stranger = not _has_a_training_s_name(end)
    if end.problem is KernelProblem.SEGFAULT:
        return stranger or _all_live(run)
    return stranger and _all_live(run)


def _all_live(run: Run) -> bool:
    """Whether each rank left a stack of its living process."""
    stacks = (e for e in run.events if isinstance(e, ThreadStack) and not e.aborted)
    ranks = {run.identity.rank_of(stack) for stack in stacks} - {None}
    return run.world.size is not None and len(ranks) >= run.world.size


def _works(end: KernelEvent, run: Run) -> bool:
    """Whether bars and steps show the job at work after it."""
    states = {
        event.done
        for event in run.events
        if isinstance(event, Progress)
        and run.timeline.gap_s(event, end) is not None
        and run.timeline.before(end, event)
    }
    return len(states) >= STATES_OF_WORK
