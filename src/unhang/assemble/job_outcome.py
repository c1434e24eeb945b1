"""From marks of success, versions and frameworks to what the job was and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from unhang.model.events import (
    TROUBLE,
    DumpRead,
    Event,
    ExceptionKind,
    Finished,
    FrameworkSeen,
    GlooFault,
    HostReport,
    NcclFailure,
    PhaseMark,
    ProcessEnded,
    Progress,
    PythonException,
    RasReport,
    Restarted,
    SettingTried,
    StopKind,
    StopSeen,
    StoreFault,
    StoreProblem,
    ThreadStack,
    VersionSeen,
    WatchdogStuck,
)
from unhang.model.events.lifecycle import (
    LONG_AT_WORK,
    STATES_OF_WORK,
    state_of_work,
    training_state,
)
from unhang.model.phases import Phase, PhaseEdge
from unhang.settings import frameworks


def drop_idle_words(events: Sequence[Event]) -> list[Event]:
    """The events without words that are no good end.

    Work that goes on after last words, or that was counted and had not come to its end, speaks
    against them; so does their log's own end in trouble. Whatever tells that a part is done is no
    end of the job where its log ends in the next part, such as a test of the model.
    """
    files: dict[str, list[Event]] = {}
    for event in events:
        files.setdefault(event.source.artifact, []).append(event)
    idle = {
        id(e)
        for own in files.values()
        for e in own
        if isinstance(e, Finished)
        and ((e.last_words and not _ends(e, own)) or (not e.whole_job and _goes_on(e, own)))
    }
    return [e for e in events if id(e) not in idle]


def _ends(words: Finished, own: Sequence[Event]) -> bool:
    """Whether the events of their log bear them out."""
    line = words.source.line or 0
    known = (e for e in own if isinstance(e, Finished) and not e.last_words)
    if any(e.source.line == words.source.line for e in known):
        return False  # the same words, which are known, and tell more
    against = (
        e for e in own if (isinstance(e, Progress) or _is_trouble(e)) and not _is_of_the_end(e)
    )
    if any((e.source.line or 0) > line for e in against):
        return False
    counted = [e for e in own if isinstance(e, Progress) and e.total is not None]
    return counted_out(counted) if counted else words.of_all_work


_MIDDLE = frozenset({Phase.LOAD, Phase.EVAL, Phase.GENERATE, Phase.DATA, Phase.COMPILE})
"""Work that is never the last of a job, unlike a save; more follows, if only a line of results."""


def _goes_on(words: Finished, own: Sequence[Event]) -> bool:
    """Whether the last that their log shows, after them, is such work, begun and not ended.

    Where rank 0 has left and its store with it, the work that was begun last has ended untold.
    """
    later = [e for e in own if (e.source.line or 0) > (words.source.line or 0)]
    if any(isinstance(e, StoreFault) and e.problem is StoreProblem.PEER_CLOSED for e in later):
        return False
    marks = [e for e in later if isinstance(e, (PhaseMark, Progress, Finished))]
    last = marks[-1] if marks else None
    return isinstance(last, PhaseMark) and last.edge is PhaseEdge.BEGIN and last.phase in _MIDDLE


def counted_out(counted: Sequence[Progress]) -> bool:
    """Whether the last count is the whole, or the next that would be printed lies beyond it."""
    last = counted[-1]
    alike = [e.done for e in counted if (e.label, e.total) == (last.label, last.total)]
    stride = last.done - max((done for done in alike if done < last.done), default=last.done)
    return last.done + stride >= (last.total or 0)


def has_finished(events: Sequence[Event]) -> bool:
    """Whether the whole job says that it ended well, and nothing after that says otherwise.

    One rank's last word is none of the job's where work goes on, or where the launcher then sees
    another process leave with an error.
    """
    if _nobody_leaves(events):
        return False
    last = max(
        (i for i, e in enumerate(events) if isinstance(e, Finished) and e.whole_job), default=None
    )
    if last is None:
        return _came_through(events)
    artifact = events[last].source.artifact
    if any(isinstance(e, SettingTried) and e.measured for e in events):
        return False  # what came to its end is the trial, and not the run that needs one
    if _stopped_before(events, last):
        return False
    later = (e for e in events[last + 1 :] if e.source.artifact == artifact)
    return not any(
        (isinstance(e, Progress) and _under_way(e)) or (isinstance(e, ProcessEnded) and _failed(e))
        for e in later
    )


def _nobody_leaves(events: Sequence[Event]) -> bool:
    """Whether the watchdogs of all ranks that speak stand still: the job hangs, done or not."""
    stuck = {e.origin.rank for e in events if isinstance(e, WatchdogStuck)} - {None}
    return len(stuck) > 1 and {e.origin.rank for e in events} - {None} <= stuck


def _stopped_before(events: Sequence[Event], end: int) -> bool:
    """Whether somebody broke a run off in the same log, and what ended well shows no work since."""
    own = [e for e in events[:end] if e.source.artifact == events[end].source.artifact]
    broken_off = (
        i for i, e in enumerate(own) if isinstance(e, StopSeen) and e.kind is StopKind.INTERRUPT
    )
    stop = max(broken_off, default=None)
    return (
        stop is not None and len({state_of_work(e) for e in own[stop:]} - {None}) < STATES_OF_WORK
    )


_LOOKED_AT = (DumpRead, HostReport, RasReport, Restarted, ThreadStack)
"""What a job that came to its end without trouble does not show either."""


def _is_trouble(event: Event) -> bool:
    """Whether it speaks against a good end; a stop is judged by itself."""
    if isinstance(event, (Finished, StopSeen)):
        return False
    return event.role in TROUBLE or isinstance(event, _LOOKED_AT)


def _came_through(events: Sequence[Event]) -> bool:
    """Whether the work was told done after everything that looks like trouble.

    The mark and the trouble must stand in one log, and the trouble be nobody else's: a rank that
    failed in its last step does not keep another from saying that it is done.
    """
    if any(isinstance(e, StopSeen) for e in events):
        return False  # whoever was stopped may well say that it is done
    logs: dict[str, list[Event]] = {}
    for event in events:
        logs.setdefault(event.source.artifact, []).append(event)
    troubled = [log for log in logs.values() if any(map(_is_trouble, log))]
    return len(troubled) > 0 and all(_outlives_its_trouble(log) for log in troubled)


def _outlives_its_trouble(log: Sequence[Event]) -> bool:
    """Whether the last word of one log is that the work is done, and its trouble lies before."""
    last = max((i for i, e in enumerate(log) if isinstance(e, Finished)), default=None)
    if last is None:
        return False
    done = log[last]
    assert isinstance(done, Finished)
    since = _long_at_work_since(log, last)
    trouble = [(i, e) for i, e in enumerate(log) if _is_trouble(e)]
    first: dict[object, int] = {}
    for i, event in trouble:
        first.setdefault(_error(event), i)
    return all(
        _is_of_the_end(event)
        if i > last
        else (
            (event.origin.rank in (None, done.origin.rank) and not done.last_words)
            or first[_error(event)] < since
        )
        and not _tells_of_a_child(event)
        for i, event in trouble
    )


def _is_of_the_end(event: Event) -> bool:
    """Whether it only says that others are gone, or that one does not leave: all are leaving."""
    if isinstance(event, StoreFault):
        return event.problem is StoreProblem.PEER_CLOSED
    if isinstance(event, PythonException):  # of a helper, or of whoever ended what was left
        return event.thread is not None or event.kind is ExceptionKind.INTERRUPTED
    return isinstance(event, (GlooFault, NcclFailure, WatchdogStuck))


def _long_at_work_since(events: Sequence[Event], last: int) -> int:
    """The index before which some trouble came long enough before the end to be outlived; or 0."""
    states = set()
    for i in range(last - 1, -1, -1):
        event = events[i]
        state = training_state(event)
        if state is not None:
            states.add(state)
            if len(states) >= LONG_AT_WORK:
                return i
    return 0


def _error(event: Event) -> object:
    """The same for one error that came again at the same place."""
    if isinstance(event, PythonException):
        return event.exception, event.frames[-1:]
    return id(event)


def _tells_of_a_child(event: Event) -> bool:
    """Whether a launcher reports it, which does so when all is over."""
    return isinstance(event, Restarted) or (
        isinstance(event, ProcessEnded) and event.exit_code not in (None, 0)
    )


def _failed(end: ProcessEnded) -> bool:
    return end.exit_code not in (None, 0) and not end.worker


def _under_way(bar: Progress) -> bool:
    return bar.total is not None and bar.done < bar.total


def find_versions(events: Sequence[Event]) -> dict[str, tuple[str, str]]:
    """Return the version of each component that most lines tell, with its basis."""
    told: dict[str, Counter[tuple[str, str]]] = {}
    for event in events:
        if isinstance(event, VersionSeen):
            told.setdefault(event.component, Counter())[event.version, event.basis] += 1
    return {component: votes.most_common(1)[0][0] for component, votes in told.items()}


def find_framework(events: Sequence[Event]) -> tuple[str, str] | None:
    """Return the outermost framework that left a mark, and the mark."""
    marks = {e.name: e.basis for e in reversed(events) if isinstance(e, FrameworkSeen)}
    # A wrapper shows as the layer below too: the outermost one is whose configuration is edited.
    outermost = next((name for name in frameworks() if name in marks), None)
    return (outermost, marks[outermost]) if outermost else next(iter(sorted(marks.items())), None)
