"""From an end in a kernel log to what ties it to the job.

A kernel log is its host's, not the job's: it goes back for weeks and tells of every process that
ended badly there. A pid or a second witness makes such an end the job's; else a name and the time
must do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from unhang.assemble.run import Run
from unhang.model.events import (
    ClosingSignal,
    CollectiveTimeout,
    Event,
    KernelEvent,
    KernelProblem,
    ProcessEnded,
    Progress,
    ThreadStack,
)
from unhang.model.events.lifecycle import STATES_OF_WORK
from unhang.model.incident import Tie
from unhang.model.waiting import first_begun, first_wait_after_s, worked_on_after

_JOB_PROGRAMS = ("python", "pt_", "pt2", "torch", "ray", "train", "deepspeed", "accelerate", "all_")
_SOON_S = 300.0
"""Ranks wait for a rank that is gone when they next need it, mostly after a step."""


def _has_a_training_s_name(event: KernelEvent) -> bool:
    """Whether trainings have such a name; one that is not told may be anybody's, so theirs too."""
    return event.process is None or event.process.lower().startswith(_JOB_PROGRAMS)


class Ties:
    """Knows what a job tells of itself, to tie the ends of processes to it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._pids = {e.origin.pid for e in run.events if not isinstance(e, KernelEvent)}
        self._closed = {e.pid for e in run.all(ClosingSignal)} - {None}
        self._timeouts = first_begun(run.all(CollectiveTimeout))
        # Whether each rank left a stack of its living process.
        stacks = (e for e in run.all(ThreadStack) if not e.aborted)
        alive = {run.identity.rank_of(stack) for stack in stacks} - {None}
        self._all_live = run.world.size is not None and len(alive) >= run.world.size
        self._states = list(_last_states(run.all(Progress)))

    def closed(self, end: Event) -> bool:
        """Whether the launcher had sent its closing signal to the process."""
        pid = end.pid if isinstance(end, ProcessEnded) else end.origin.pid
        return pid in self._closed

    def find(self, told: Sequence[Event]) -> Tie:
        """What ties the process of which all these events tell to the job."""
        run = self._run
        ends = [e for e in told if isinstance(e, KernelEvent)]
        if len(ends) < len(told) or any(run.identity.rank_of(e) is not None for e in ends):
            return Tie.TOLD
        end = ends[0]
        if end.pid is not None and end.pid in self._pids:
            return Tie.TOLD
        if self._is_no_rank_s(end):
            return Tie.NONE
        at = run.timeline.time_of(end)
        if self._works_after(end) or (at is not None and worked_on_after(at, self._timeouts)):
            return Tie.NONE
        wait_s = None if at is None else first_wait_after_s(at, self._timeouts)
        if _has_a_training_s_name(end):
            return Tie.NAME if wait_s is None else Tie.TIME
        return Tie.NONE if wait_s is None or wait_s > _SOON_S else Tie.NAME

    def _is_no_rank_s(self, end: KernelEvent) -> bool:
        """Whether every rank is alive, or the name is another program's.

        What crashed then is another job's, or a helper whose rank prints that it lost it. A helper
        that was killed for memory may leave its rank hanging.
        """
        stranger = not _has_a_training_s_name(end)
        if end.problem is KernelProblem.SEGFAULT:
            return stranger or self._all_live
        return stranger and self._all_live

    def _works_after(self, end: KernelEvent) -> bool:
        """Whether bars and steps show the job at work after it."""
        timeline = self._run.timeline
        states = {
            state.done
            for state in self._states
            if timeline.gap_s(state, end) is not None and timeline.before(end, state)
        }
        return len(states) >= STATES_OF_WORK


def _last_states(bars: Iterable[Progress]) -> Iterator[Progress]:
    """The last states of work of each artifact: those that show whether it worked on."""
    last: dict[str, dict[int, Progress]] = {}
    for bar in bars:
        states = last.setdefault(bar.source.artifact, {})
        states.pop(bar.done, None)
        states[bar.done] = bar
        if len(states) > STATES_OF_WORK:
            del states[next(iter(states))]
    return (bar for states in last.values() for bar in states.values())
