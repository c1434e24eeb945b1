"""Whether a good end is one of the whole job: of every log that shows its work, and of every rank.

One rank, one pod or one stage that ended well says nothing of the others; those who fail quietly
say nothing at all. So each log that shows work comes to its end, by its own words or by its count,
or the launcher of all accounts for it; no rank that counts steps is left behind; and the text
around the words does not speak against them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from unhang.assemble.job_outcome import counted_out
from unhang.model.events import (
    TROUBLE,
    Event,
    Finished,
    Progress,
    PythonException,
    UnreadLine,
)
from unhang.model.events.lifecycle import STATES_OF_WORK, state_of_work
from unhang.model.ids import Rank
from unhang.model.incident import Incident

_LAST_LINES = 200
_NEAR = 1
"""Lines beside one that tells of trouble which are of the same message."""
_SAYS_NOTHING = (Finished, UnreadLine)
"""What is asked about, and what nobody understood."""


def is_of_all(
    incident: Incident,
    names: Iterable[str],
    bears_out: Callable[[Finished, Collection[int], int], bool],
    work_at_the_end: Callable[[str, int], Sequence[Event]],
) -> bool:
    """Say whether all of the job that the files show came to a good end.

    Args:
        incident: that is told to have ended well.
        names: of the artifacts of the job.
        bears_out: whether the text around such words bears them out; takes the lines around it
            that were understood, and the line at which its attempt begins, too.
        work_at_the_end: what work the last lines of an artifact count, in any words; takes its
            name and how many lines.
    """
    logs: dict[str, list[Event]] = {}
    for event in incident.events:
        logs.setdefault(event.source.artifact, []).append(event)
    ends = {event.source.artifact: event for event in incident.all(Finished)}
    told = [ends[name] for name in sorted(ends)]
    later = incident.incarnation > 0  # what stands above its first event is of another attempt
    for end in told:
        log = logs[end.source.artifact]
        if not _stands(end, log, bears_out, min(e.source.line or 0 for e in log) if later else 0):
            return False
    if not told:
        return False
    if _of_some(incident) or _left_behind(incident.all(Progress)):
        return False
    if any(end.whole_job for end in told):
        return True
    worked = False
    for name in names:
        parsed = [e for e in logs.get(name, ()) if state_of_work(e) is not None]
        work = [*parsed, *(work_at_the_end(name, _LAST_LINES) if len(parsed) < 2 else ())]
        shows = len({state_of_work(e) for e in work}) >= STATES_OF_WORK
        worked |= shows
        if shows and name not in ends and not _came_to_its_end(work, incident):
            return False
    return worked or not all(end.last_words for end in told)


def _stands(
    end: Finished,
    log: Sequence[Event],
    bears_out: Callable[[Finished, Collection[int], int], bool],
    begins: int,
) -> bool:
    """Whether neither the text around the words nor a count below them speaks against them."""
    line = end.source.line or 0
    known = {n for e in log if not isinstance(e, _SAYS_NOTHING) for n in _lines_of(e)}
    later = [e for e in log if (e.source.line or 0) > line and state_of_work(e) is not None]
    bars = [e for e in later if isinstance(e, Progress)]
    out = not bars or (bars[-1].total is not None and counted_out(bars))
    trains = {state_of_work(e) for e in later} - {state_of_work(e) for e in bars}
    return out and len(trains) < STATES_OF_WORK and bears_out(end, known, begins)


def _lines_of(event: Event) -> range:
    """The lines that an event was read from; a traceback stands above its last one."""
    line = event.source.line or 0
    near = _NEAR if event.role in TROUBLE else 0
    above = 2 * len(event.frames) + 2 if isinstance(event, PythonException) else near
    return range(line - above, line + near + 1)


def _of_some(incident: Incident) -> bool:
    """Whether single processes alone say that they ended well, and fewer than the job has."""
    ends = incident.all(Finished)
    if not all(end.one_process for end in ends):
        return False
    return len(ends) < (incident.world.size or len(ends) + 1)


def _came_to_its_end(work: Sequence[Event], incident: Incident) -> bool:
    """Whether a log without last words counted to its end, or as far as one that has them."""
    counted = [e for e in work if isinstance(e, Progress)]
    if not counted:
        return False
    last, furthest = counted[-1], max((e.done for e in incident.all(Progress)), default=None)
    out = last.total is not None and counted_out(counted)
    return out or (furthest is not None and last.done >= furthest)


def _left_behind(counted: Sequence[Progress]) -> bool:
    """Whether a rank counted steps, and stopped long before others that count the same."""
    by_rank: dict[tuple[str, int | None], dict[Rank, list[int]]] = {}
    for event in counted:
        if event.origin.rank is not None:
            ranks = by_rank.setdefault((event.label, event.total), {})
            ranks.setdefault(event.origin.rank, []).append(event.done)
    for ranks in by_rank.values():
        furthest = max(done[-1] for done in ranks.values())
        for done in ranks.values():
            stride = done[-1] - done[-2] if len(done) > 1 else 0
            if len(done) >= STATES_OF_WORK and done[-1] + 2 * max(stride, 1) < furthest:
                return True
    return False
