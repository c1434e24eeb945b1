"""From the files that were given to those that are of one job, and those that lie beside them.

People give unhang a folder. In it lie notes, manuals, chats, the log of another job, the summary of
last year. Evidence belongs to a job because something ties it there: a host, a process, a rank, an
identifier, a time, its place in a series of files. What nothing ties to the job, or what people
wrote, is told of and judges nothing: not the cause, not the size of the job, not that it went well.

The job is what the files with most of its life tell: waiting, failing, work, ranks. One file alone
is the job. A file that says neither host nor day, which nothing can ever tie, is loose: it decides
only what the others leave open. Where a file of the job has no date, the day it was saved stands
for it, so that what is of another year is seen to be so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from unhang.assemble.file_ties import TURNED, all_tied, is_far, outermost, survived
from unhang.assemble.given_files import (
    FAILS,
    TALKS,
    WAITS,
    GivenFile,
    given_files,
    is_asked_for,
    is_look,
    is_stale,
    look_at,
    series_of,
)
from unhang.engine.nature import Nature
from unhang.model.events import (
    ClosingSignal,
    Event,
    Finished,
    ProcessEnded,
    StackSeen,
    StepsTimed,
    StopSeen,
    ThreadStack,
    WorldSeen,
)
from unhang.model.time import Clock, Instant
from unhang.sources.artifact import Artifact

_SHORT = 8 << 10
"""Bytes of a text that somebody may have pasted."""
_RIVAL = 0.4
"""Share of the weight of the job from which another log may be the job as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A file that judges nothing.

    Attributes:
        artifact: its name.
        why: `written`, `unlike`, `untied`, `another_time`, `past`, `turned`,
            `another_host` or `another_program`.
        told: how many facts of it were set aside; 0 for a launch script, which tells no event.
    """

    artifact: str
    why: str
    told: int


@dataclass(frozen=True, slots=True)
class Parted:
    """What is of the job, and what is not.

    Attributes:
        events: of the job, in their order.
        besides: the files that lie beside it.
        loose: files that nothing ties to the job, and nothing contradicts.
        strangers: those of them that are kernel logs of a host, where the job names none.
        named: those that show a job at work themselves, or name a host, where the job names none.
        well: a good end in it may be told; False where another file tells of a job without one,
            or is a log of which nothing is known.
        rivals: logs of another job that may as well be the one that was asked about.
    """

    events: tuple[Event, ...]
    besides: tuple[Beside, ...] = ()
    loose: frozenset[str] = frozenset()
    strangers: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    well: bool = True
    rivals: frozenset[str] = frozenset()

    def without_loose(self) -> tuple[Event, ...]:
        """The events without those of loose files; a pace that they tell is only compared."""
        return tuple(
            event
            for event in self.events
            if event.source.artifact not in self.loose or isinstance(event, StepsTimed)
        )


def set_aside(
    events: Sequence[Event],
    artifacts: Sequence[Artifact],
    look: Callable[[str], Nature | None],
) -> Parted:
    """Part what is of the job from what lies beside it.

    Args:
        events: of all artifacts.
        artifacts: what was read.
        look: says how an artifact looks, by its name.
    """
    if len(artifacts) < 2:
        return Parted(tuple(events))
    files = given_files(events, artifacts)
    turned = dict.fromkeys(_turned(files), "turned")
    if turned:
        parted = _without(events, files, turned)
        rest = set_aside(parted.events, [a for a in artifacts if a.name not in turned], look)
        return replace(rest, besides=(*rest.besides, *parted.besides))
    telling = [file for file in files.values() if file.decides]
    if not telling or len({series_of(name) for name in files}) < 2:
        return Parted(tuple(events))
    look_at(files.values(), look)
    if _is_copied(files.values()):
        for file in files.values():
            file.saved = None
    job = _the_job([f for f in files.values() if not f.written and (f.events or f.unread or f.log)])
    if not job:
        if len(telling) < len(files) and _most_is_unread(files.values()):
            return _without(events, files, {file.name: "written" for file in telling})
        job = _the_job(telling)
    members = [file for file in files.values() if file.name in job]
    others = [file for file in telling if file.name not in job]
    reasons = dict(_reasons(others, members))
    loose = frozenset(name for name, why in reasons.items() if why is None)
    apart = [f for f in files.values() if f.name not in job and not f.written]
    held = any(
        f.unfinished
        or (f.name in loose and not f.ended_well and not (f.of_a_kernel and (f.hosts or f.days)))
        or (f.log and not f.decides)
        for f in apart
    )
    well = not held or not any(file.tells(Finished) for file in members)
    aside = {name: why for name, why in reasons.items() if why is not None}
    strangers = frozenset(name for name in loose if files[name].of_a_kernel and files[name].hosts)
    named = frozenset(name for name in loose if _names_another(files[name]))
    parted = _without(events, files, aside)
    timed = {event.source.artifact for event in events if isinstance(event, StepsTimed)}
    if timed & job:  # a run that measures the same is there to be compared
        apart = [file for file in apart if file.name not in timed]
    rivals = _rivals(members, apart, reasons)
    return replace(parted, loose=loose, strangers=strangers, named=named, well=well, rivals=rivals)


def _rivals(
    job: Sequence[GivenFile], apart: Sequence[GivenFile], reasons: Mapping[str, str | None]
) -> frozenset[str]:
    """Logs that may be the job instead: it shows no life itself, but a host or a day not theirs.

    A summary, a trace or a kernel's line may be of any job. Beside the log of one that goes on, or
    that tells nearly as much, it is as likely somebody else's. A short text that counts no work is
    so beside any whole job, even where ranks of some job wait in it.
    """
    at_work = any(file.works and file.unfinished for file in job)
    if at_work or any(file.recorded or file.looked_up or file.is_answer for file in job):
        return frozenset()
    if len(job) == 1 and job[0].size <= _SHORT:
        alike = (None, "past")  # nothing tells it apart but its age
        whole = frozenset(f.name for f in apart if f.is_whole and reasons.get(f.name) in alike)
        if whole:
            return whole
    lives = any(file.unfinished for file in job)
    if lives or not any(file.hosts or file.days or file.unlike for file in job):
        return frozenset()
    newest = _newest(day for file in (*job, *apart) for day in file.days)
    least = _RIVAL * sum(_weight(file, newest) for file in job)
    return frozenset(
        file.name
        for file in apart
        if _may_be_the_job(file)
        and (file.unfinished or file.tells(StackSeen) or _weight(file, newest) >= least)
    )


def _may_be_the_job(file: GivenFile) -> bool:
    """Whether a file could be all that is kept of a job; what is of another form must talk so."""
    if file.shows or file.unlike:
        return file.tells(*WAITS, *TALKS, *FAILS)
    told = file.log or file.unread > 0 or file.tells(WorldSeen, StackSeen)
    return file.tells_of_a_job or (told and not file.of_a_kernel)


def _newest(days: Iterable[Instant]) -> Instant | None:
    """The latest day of a known year."""
    known = (day for day in days if day.clock is not Clock.LOCAL_NO_YEAR)
    return max(known, key=lambda day: day.seconds, default=None)


def _is_copied(files: Iterable[GivenFile]) -> bool:
    """Whether files of one time, long ago, were saved since: then when others were tells nothing.

    Whoever downloads or unpacks a folder saves all of it anew.
    """
    old = [file for file in files if file.stale]
    kinds = {series_of(file.name) for file in old}
    return len(kinds) > 1 and not any(is_far(a, b) for a in outermost(old) for b in old)


def _names_another(file: GivenFile) -> bool:
    """Whether it shows a job at work, or a host; a cluster names the pods that it stops.

    Stacks alone are taken of the job that somebody asks about.
    """
    if file.tells(ThreadStack) and not file.works and not file.hosts:
        return False
    stops = all(isinstance(event, StopSeen | ClosingSignal) for event in file.events)
    return file.lives or (bool(file.hosts) and not stops)


def _turned(files: Mapping[str, GivenFile]) -> Iterator[str]:
    """Logs that were turned over (`train.log.1`) where the next shows the job well at work."""
    for name in files:
        follower = files.get(TURNED.sub("", name))
        if follower is None or follower.name == name:
            continue
        well = follower.tells(Finished) or follower.works
        if well and not follower.tells(*WAITS, *TALKS, *FAILS, ProcessEnded):
            yield name


def _without(
    events: Sequence[Event],
    files: Mapping[str, GivenFile],
    aside: Mapping[str, str],
) -> Parted:
    """All events but those of files that lie aside; what tools looked up stays."""
    kept = tuple(
        event
        for event in events
        if (why := aside.get(event.source.artifact)) is None
        or (is_look(event) and why != "written")
    )
    besides = tuple(
        Beside(
            artifact=name,
            why=why,
            told=files[name].told_of_events,
        )
        for name, why in sorted(aside.items())
    )
    return Parted(kept, besides)


def _most_is_unread(files: Iterable[GivenFile]) -> bool:
    """Whether what nobody understands is larger than all that people wrote."""
    written = unread = 0
    for file in files:
        if file.decides:
            written += file.size
        elif not file.written:
            unread = max(unread, file.size)
    return unread > written


def _the_job(files: Sequence[GivenFile]) -> set[str]:
    """The series of files that tells most, and all that is tied to it; none of no files.

    A text that shows lines of others is none beside a file that tells of work, waits or ends; nor,
    where one is of a whole job that ended well, what tells of trouble while it went on. What a
    kernel tells of its host, and what is long past, is the job only where nothing else is.
    """
    weights: dict[str, float] = {}
    newest = _newest(day for file in files for day in file.days)
    for file in files:
        series = series_of(file.name)
        weights[series] = weights.get(series, 0.0) + _weight(file, newest)
    if not weights:
        return set()
    jobs = [file for file in files if file.is_whole]
    others = any(file.lives or file.tells(ProcessEnded) for file in files if not file.shows)
    whole = {series_of(file.name) for file in jobs}
    past = survived(files)
    heads = {
        series_of(file.name)
        for file in files
        if not (file.shows and (jobs or others)) and file.name not in past
    }
    alike = [file for file in files if not file.unlike]
    telling = [file for file in alike if file.tells_of_a_job]
    for kind in (telling, [file for file in alike if file.of_a_kernel]):
        if heads & {series_of(file.name) for file in kind}:
            heads &= {series_of(file.name) for file in kind}
            break
    fresh = {
        series_of(file.name)
        for file in telling
        if not (_is_past(file) or file.looked_up or is_stale(file.days, newest))
    }
    if (heads & fresh) - whole:
        heads &= fresh
    heaviest = max(sorted(heads or weights), key=lambda series: weights[series])
    return all_tied((file.name for file in files if series_of(file.name) == heaviest), files)


def _weight(file: GivenFile, newest: Instant | None = None) -> float:
    """How much of a job's life a file tells.

    Few ask about a job that ended well, or about one that is long past; what tools looked up tells
    of a job that logs tell of better; and any program raises exceptions, but only ranks talk.

    Args:
        file: what is weighed.
        newest: the latest day that any file tells of.
    """
    waits, talks, fails = (file.tells(*kinds) for kinds in (WAITS, TALKS, FAILS))
    kinds = len({type(event) for event in file.events})
    size = 4 * math.log10(file.like * file.size + 100) + 1.5 * math.log10(len(file.events) + 1)
    whole = 12.0 * waits + 10 * talks + 5 * fails + 3 * (file.tells(ProcessEnded) + file.works)
    whole += 0.5 * min(len(file.ranks), 4)
    asked = (0.7 if file.ended_well else 1.0) * (0.6 if file.looked_up else 1.0)
    asked *= 0.6 if file.of_a_kernel else 1.0  # which tells of a host
    asked *= 0.5 ** (file.stale + is_stale(file.days, newest) + 2 * file.unlike)
    return asked * (whole + 0.5 * kinds + size)


def _reasons(
    files: Iterable[GivenFile], job: Sequence[GivenFile]
) -> Iterator[tuple[str, str | None]]:
    """Why each file is not the job's; None where it may be."""
    ends = outermost(job)
    hosts = {host for file in job for host in file.hosts}
    undated = not any(file.days for file in job)
    why: str | None
    for file in files:
        if file.written or file.shows:
            why = "written"
        elif file.unlike:
            why = "unlike"
        elif any(is_far(file, other) for other in ends):
            why = "another_time"
        elif file.hosts and hosts:
            why = "another_host" if file.of_a_kernel else "untied"
        elif file.hosts and file.of_other_programs:
            why = "another_program"
        else:
            why = "past" if undated and _is_past(file) else None
        yield file.name, why


def _is_past(file: GivenFile) -> bool:
    """Whether it was saved long after all that it tells, and shows no job that it could be of."""
    asked = any(map(is_asked_for, file.events))
    return file.stale and not (file.lives or file.recorded or asked)
