"""Whether a job worked on after its last trouble: then that trouble did not end it."""

from __future__ import annotations

from collections.abc import Sequence

from unhang import lazy_re as re
from unhang.model.events import (
    TROUBLE,
    DeviceFault,
    Event,
    Finished,
    KernelEvent,
    NcclFailure,
    ProcessEnded,
    Progress,
    PythonException,
    Reporter,
    StoreFault,
    StoreProblem,
)
from unhang.model.events.lifecycle import LONG_AT_WORK, STATES_OF_WORK, state_of_work
from unhang.model.finding import Finding
from unhang.model.ids import Rank
from unhang.model.incident import Incident, Introduced
from unhang.model.provenance import Origin
from unhang.model.time import Instant

_TAKEN = StoreProblem.PORT_IN_USE
_LONG_AFTER_S = 60.0
_AMID_WORK = 5
"""States after trouble that stands amid work: a job that failed seldom writes so many late."""


def outlived(incident: Incident, states: int) -> bool:
    """Whether so many states of work follow the last trouble, in each log that tells of any.

    An error that came before, and that the job then worked on after, ends it no more this time.
    """
    by_artifact: dict[str, list[Event]] = {}
    for event in incident.events:
        if event.role in TROUBLE and not isinstance(event, Finished):
            by_artifact.setdefault(event.source.artifact, []).append(event)
    return len(by_artifact) > 0 and all(
        _outlived_in(incident, artifact, trouble, states)
        for artifact, trouble in by_artifact.items()
    )


def was_over(incident: Incident) -> bool:
    """Whether the job had told its good end, in the same log, before any trouble."""
    over: set[str] = set()
    troubled: set[str] = set()
    for event in incident.events:
        name = event.source.artifact
        if isinstance(event, Finished):
            over.add(name)
        elif event.role in TROUBLE:
            if name not in over:
                return False
            troubled.add(name)
        elif state_of_work(event) is not None and name in troubled:
            return False
    return len(troubled) > 0


def counts_on(incidents: Sequence[Incident]) -> bool:
    """Whether the last run goes on counting where the one before it was: it is the same."""
    if len(incidents) < 2:
        return False
    before, after = (
        {bar.label: bar.done for bar in bars}
        for bars in (incidents[-2].all(Progress), reversed(incidents[-1].all(Progress)))
    )
    return any(after.get(label, 0) > done for label, done in before.items())


def is_untouched(incident: Incident) -> bool:
    """Whether the job is at work, and nothing but the kernel's log tells of an end or a fault.

    A host runs other programs too, and what ends or faults leaves its mark in its own job. What
    stands without a time below all work of the job's own log was printed there, and is of the job.
    """
    states: set[object] = set()
    last: dict[str, int] = {}
    for event in (*incident.events, *incident.counted):
        if (state := state_of_work(event)) is not None:
            states.add(state)
            line = event.source.line or 0
            last[event.source.artifact] = max(line, last.get(event.source.artifact, 0))
    told = [e for e in incident.events if e.role in TROUBLE and not isinstance(e, Finished)]
    known = {event.origin.pid for event in incident.events if not isinstance(event, KernelEvent)}
    return len(states) >= STATES_OF_WORK and all(
        isinstance(event, KernelEvent)
        and event.pid not in known
        and (event.at is not None or not _ends(event, last.get(event.source.artifact)))
        for event in told
    )


def is_stray(incident: Incident) -> bool:
    """Whether all trouble of a log at work stands in a text that somebody introduces.

    What a voice encloses is shown. What a line merely leads to may be the end of the job, unless
    the line breaks off below a good end, or the beginning of the trouble is missing: an exception
    ends a process behind its traceback, torchrun's table is the message of one, and the kernel
    writes to its own log. Several who fail need no beginning.
    """
    if incident.introduced is None:
        return False
    told = [e for e in incident.events if e.role in TROUBLE and not isinstance(e, Finished)]
    whole = len({e.origin for e in told}) > 1 or not all(map(_lacks_its_beginning, told))
    if not told or incident.introduced is Introduced.ENCLOSED:
        return len(told) > 0
    if incident.introduced is Introduced.SAID and was_over(incident):
        return True
    if whole:
        return False
    lines = [event.source.line or 0 for event in told]
    above: set[object] = set()
    below: set[object] = set()
    for event in (*incident.events, *incident.counted):
        if event.source.artifact == told[0].source.artifact:
            line, state = event.source.line or 0, state_of_work(event)
            (above if line < min(lines) else below).add(state)
    return len(above - {None}) >= STATES_OF_WORK or len(below - {None}) >= LONG_AT_WORK


def is_history(incident: Incident, finding: Finding) -> bool:
    """Whether all that it goes by are warnings, after each of which who warned was at work.

    A process goes on behind a warning, unlike behind an exception. What it did before may have come
    from a buffer, so that work above it, too, counts only where times tell that it came later.
    """
    places = {(place.artifact, place.line) for place in finding.evidence}
    told = [
        event
        for event in incident.events
        if event.role in TROUBLE and (event.source.artifact, event.source.line) in places
    ]
    return len(told) > 0 and all(
        isinstance(event, NcclFailure) and event.warning and _worked_since(incident, event)
        for event in told
    )


def _worked_since(incident: Incident, warning: NcclFailure) -> bool:
    since: set[object] = set()
    for event in (*incident.events, *incident.counted):
        ranks = {event.origin.rank, warning.origin.rank}
        same = event.source.artifact == warning.source.artifact and len(ranks - {None}) < 2
        if not same or (state := state_of_work(event)) is None:
            continue
        gap = (
            event.at.since(warning.at) if event.at is not None and warning.at is not None else None
        )
        if gap is not None:
            since |= {state} if gap > 0 else set()
        elif (event.source.line or 0) > (warning.source.line or 0):
            since.add(state)
        else:
            return False
    return len(since) >= STATES_OF_WORK


def _lacks_its_beginning(event: Event) -> bool:
    match event:
        case PythonException():
            return not event.frames
        case ProcessEnded():
            return event.reporter is Reporter.ELASTIC_TABLE
        case KernelEvent():
            return event.at is not None
        case _:
            return isinstance(event, DeviceFault)


def _ends(event: Event, last_work: int | None) -> bool:
    return last_work is not None and (event.source.line or 0) > last_work


def _outlived_in(incident: Incident, artifact: str, trouble: Sequence[Event], states: int) -> bool:
    """Whether the same artifact shows so much work after its last trouble.

    The kernel's log shows no work of any job. What it tells of amid the dated work of the job's own
    log is judged by that; elsewhere clocks of another zone could put it there.
    """
    if all(isinstance(event, KernelEvent) for event in trouble) and not _works(incident, artifact):
        return all(e.at is not None and _amid_work(e.at, incident, states) for e in trouble)
    lived_with = _lived_with(incident, states)
    left = [e for e in trouble if _error(e) not in lived_with]
    if not left:
        return True
    line = max(e.source.line or 0 for e in left)
    if all(isinstance(event, _CAUGHT) for event in left) and _kept_on(incident, artifact, left):
        return True
    later = [
        event
        for event in (*incident.events, *(e for e in incident.counted if not _is_habit(e)))
        if event.source.artifact == artifact and (event.source.line or 0) > line
    ]
    ranks = {event.origin.rank for event in trouble} - {None}
    # Who trains to the end takes all along; but where a port was taken, that was another launch.
    other = any(isinstance(e, StoreFault) and e.problem is _TAKEN for e in trouble)
    dated = [event.at for event in later if event.at is not None and state_of_work(event)]
    stopped = [event.at for event in left if event.at is not None]
    first = min(e.source.line or 0 for e in left)
    ended = any(isinstance(event, Finished) for event in later)
    gap = dated[-1].since(stopped[-1]) if dated and stopped else None
    if gap is not None and gap >= _LONG_AFTER_S:
        # No buffer keeps lines of a later time: it works without that rank, or again.
        ranks, states = set(), 1 if ended else STATES_OF_WORK
    elif ended and not other:
        ranks, states = set(), min(states, STATES_OF_WORK)
    elif not other and (before := _life_before(incident, artifact, first)) is not None:
        if isinstance(before, Finished):  # what is written late comes before its own good end
            ranks, states = set(), min(states, STATES_OF_WORK)
        elif gap is None:
            ranks, states = set(), min(states, _AMID_WORK)
    worked: dict[Rank | None, set[object]] = {}
    for event in later:
        state = state_of_work(event)
        if state is not None:
            worked.setdefault(event.origin.rank if ranks else None, set()).add(state)
    return all(len(worked.get(rank, ())) >= states for rank in ranks or {None})


_CAUGHT = (PythonException, DeviceFault)
"""What a program may catch, log and live with."""


def _is_habit(event: Event) -> bool:
    """Whether it is a line by which a job goes on as before, not one that counts."""
    return isinstance(event, Progress) and event.label != ""


def _kept_on(incident: Incident, artifact: str, trouble: Sequence[Event]) -> bool:
    """Whether who failed went on with what it did before; a stranger's lines do not tell."""
    habits = {e.origin for e in incident.counted if _is_habit(e) and e.source.artifact == artifact}
    return len(habits) > 0 and all(
        any(_may_be(event.origin, origin) for origin in habits) for event in trouble
    )


def _may_be(failed: Origin, works: Origin) -> bool:
    names = ("rank", "local_rank", "task", "host", "pid", "actor")
    return all(getattr(failed, n) in (None, getattr(works, n)) for n in names)


def _works(incident: Incident, artifact: str) -> bool:
    return any(
        event.source.artifact == artifact and state_of_work(event) is not None
        for event in (*incident.events, *incident.counted)
    )


def _life_before(incident: Incident, artifact: str, line: int) -> Event | None:
    """The last work, or good end, that an artifact shows above a line."""
    return next(
        (
            event
            for event in reversed(incident.events)
            if event.source.artifact == artifact
            and (event.source.line or 0) < line
            and (state_of_work(event) is not None or isinstance(event, Finished))
        ),
        None,
    )


def _amid_work(told: Instant, incident: Incident, states: int) -> bool:
    """Whether work begins before that time, and so many states follow long after it."""
    began, later = False, set()
    for event in (*incident.events, *incident.counted):
        state = state_of_work(event)
        gap = None if state is None or event.at is None else event.at.since(told)
        if gap is not None:
            began |= gap < 0
            later |= {state} if gap >= _LONG_AFTER_S else set()
    return began and len(later) >= states


_DIGITS = re.compile(r"\d+")


def _error(event: Event) -> tuple[object, ...]:
    """The same for one error that comes again; numbers in it differ, but not who printed it."""
    own = (event.origin.pid, event.origin.rank) if isinstance(event, ProcessEnded) else ()
    return type(event), _DIGITS.sub("#", event.source.text), *own


def _comes_again(event: Event, states: int) -> int | None:
    """After how many states of work it may come again and ends nobody; None where it may not.

    A process dies once: what the same one prints again was the end of a child of it.
    """
    if isinstance(event, (PythonException, DeviceFault)):
        return states
    printed = isinstance(event, ProcessEnded) and event.reporter in _BY_ITSELF
    named = event.origin.pid is not None or event.origin.rank is not None
    return STATES_OF_WORK if printed and named else None


_AGAIN_S = 10.0
"""Longer than a process takes to print its end, by a logger and by the interpreter."""
_BY_ITSELF = frozenset({Reporter.SELF, Reporter.SHELL})


def _lived_with(incident: Incident, states: int) -> frozenset[tuple[object, ...]]:
    """Errors of code that came again after so many states of work: somebody catches them.

    So does a process that prints one again at a later time: of what ended it, it would be dead.
    """
    worked: dict[tuple[object, ...], set[object]] = {}
    first: dict[tuple[object, ...], Instant] = {}
    found: set[tuple[object, ...]] = set()
    for event in incident.with_counted:
        if (least := _comes_again(event, states)) is not None:
            if len(worked.setdefault(_error(event), set())) >= least:
                found.add(_error(event))
            if event.at is not None and event.origin.pid is not None:
                key = (*_error(event), event.origin.pid)
                gap = event.at.since(first.setdefault(key, event.at))
                if isinstance(event, _CAUGHT) and gap is not None and gap >= _AGAIN_S:
                    found.add(_error(event))
        elif (state := state_of_work(event)) is not None:
            for seen in worked.values():
                if len(seen) < states:
                    seen.add(state)
    return frozenset(found)
