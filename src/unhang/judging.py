"""From what was read to the verdict on the job: what is of it, and its last failed start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from unhang.architectures import Architecture
from unhang.assemble import assemble
from unhang.assemble.beside import Beside, Parted, set_aside
from unhang.assemble.given_files import tells_of_an_event
from unhang.assemble.hosts_of_files import with_hosts_of_files
from unhang.assemble.loose_files import may_say_more, that_explain
from unhang.engine.gather import Gathered
from unhang.engine.ledger import side_by_side
from unhang.engine.reading import SPENT
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.events import (
    TROUBLE,
    Event,
    Finished,
    KernelEvent,
    ProcessEnded,
    Progress,
    Restarted,
    SettingTried,
    UnreadLine,
)
from unhang.model.events.lifecycle import LONG_AT_WORK, STATES_OF_WORK, state_of_work
from unhang.model.guard import Guard
from unhang.model.incident import Incident, Introduced
from unhang.model.provenance import Message, Problem
from unhang.model.statement import Source
from unhang.remedies import suggest
from unhang.rules.shared.order import DECISIVE
from unhang.verdict.contents import contents_of
from unhang.verdict.corroboration import hear
from unhang.verdict.course_of_events import tell
from unhang.verdict.doubts import as_a_whole
from unhang.verdict.good_end import is_of_all
from unhang.verdict.likely import weigh
from unhang.verdict.next_evidence import advise
from unhang.verdict.outlived import counts_on, was_over
from unhang.verdict.ranking import rank
from unhang.verdict.rule_results import judge
from unhang.verdict.signs import read_signs


def judge_gathered(
    gathered: Gathered, framework: str | None = None, models: Sequence[Architecture] = ()
) -> Diagnosis:
    """Judge what was read.

    Args:
        gathered: the events of all artifacts, and what could not be read.
        framework: see `diagnose`.
        models: what may be trained; none = any model that is known by name.
    """
    return judged(gathered, framework, models)[0]


def judged(
    gathered: Gathered, framework: str | None, models: Sequence[Architecture]
) -> tuple[Diagnosis, Incident]:
    """The verdict, and the facts of the incarnation that it is about.

    Where it holds something against the job, the lines are asked once more whether work went on
    after that in words that no parser knows.
    """
    found, incident = _judged(gathered, framework, models)
    if _leaves_open(found):
        own = [f for f in incident.failures if f.manner in DECISIVE]
        more = None if incident.finished else side_by_side(gathered, incident, found.culprits, own)
        again = None if more is None else _judged(more, framework, models)
        told = None if again is None else again[0].cause
        if again is not None and told in _OF_RANKS_APART and found.cause in (None, told):
            return again
    if _accuses(found):
        counted = _worked_on(gathered, incident)
        introduced = _introduced(gathered, incident)
        if counted or introduced is not None:
            more = replace(gathered, counted=counted, introduced=introduced)
            again = _judged(more, framework, models)
            if not _accuses(again[0]) or (introduced is not None and not _blames(again[0])):
                return again
    return found, incident


_OF_RANKS_APART = (Cause.UNEVEN_WORK, Cause.DESYNC, Cause.MODEL_DIVERGENCE)


def _leaves_open(found: Diagnosis) -> bool:
    """Whether a verdict names no cause, or one of ranks that are apart and none of these."""
    if found.cause is None:
        return found.outcome in (Outcome.UNDETERMINED, Outcome.LOCATED)
    return found.cause in _OF_RANKS_APART and not found.culprits


def _accuses(found: Diagnosis) -> bool:
    return _blames(found) or found.likely is not None


def _blames(found: Diagnosis) -> bool:
    return found.outcome in (Outcome.CAUSE, Outcome.LOCATED)


def _introduced(gathered: Gathered, incident: Incident) -> Introduced | None:
    """Whether somebody introduces all trouble, where one log tells of it."""
    told = [e.source for e in incident.events if e.role in TROUBLE and not isinstance(e, Finished)]
    lines = [source.line for source in told if source.line is not None]
    if len({source.artifact for source in told}) != 1 or len(lines) < len(told):
        return None
    return gathered.introduced_in(told[0].artifact, min(lines), max(lines))


def _worked_on(gathered: Gathered, incident: Incident) -> list[Event]:
    """What lines after the trouble of each artifact count, where that is long work."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    words = not any(event.role in TROUBLE for event in incident.events)
    for event in incident.events:
        if event.role in TROUBLE or (words and isinstance(event, UnreadLine)):
            name, line = event.source.artifact, event.source.line or 0
            if not isinstance(event, Finished):
                first.setdefault(name, line)
                last[name] = max(line, last.get(name, 0))
    counted: list[Event] = []
    for artifact, line in last.items():
        states = gathered.work_in(artifact, line)
        counted += states if len({state_of_work(s) for s in states}) >= STATES_OF_WORK else ()
        if first[artifact] < line and not incident.all(ProcessEnded):
            # Nobody is told to have died: work between troubles shows that the first was outlived.
            between = gathered.work_in(artifact, first[artifact])
            counted += (s for s in between if (s.source.line or 0) <= line)
    return [*counted, *_worked_beside(gathered, incident)]


_LAST_LINES = 200
"""Of a log, which show whether it ends at work."""


def _worked_beside(gathered: Gathered, incident: Incident) -> Iterator[Event]:
    """The work of logs that tell of no trouble, where nothing but a kernel's log tells of any."""
    told = [e for e in incident.events if e.role in TROUBLE and not isinstance(e, Finished)]
    of_kernel = len(told) > 0 and all(isinstance(event, KernelEvent) for event in told)
    if not of_kernel or incident.all(Progress):
        return
    troubled = {event.source.artifact for event in told}
    for artifact in gathered.artifacts:
        if artifact.name not in troubled:
            yield from gathered.work_in(artifact.name, 0)
            yield from gathered.work_at_the_end(artifact.name, _LAST_LINES)


def _judged(
    gathered: Gathered, framework: str | None, models: Sequence[Architecture]
) -> tuple[Diagnosis, Incident]:
    """The same by what the parsers told."""
    events = with_hosts_of_files(gathered.events)
    parted = set_aside(events, gathered.artifacts, gathered.look)
    besides = parted.besides
    aside = frozenset(file.artifact for file in besides)

    def of(events: Sequence[Event], left_out: frozenset[str]) -> tuple[Diagnosis, Incident]:
        names = [a.name for a in gathered.artifacts if a.name not in left_out]
        return _judge(events, names, gathered, framework, models, contested=bool(parted.rivals))

    found, incident = of(parted.without_loose(), aside | parted.loose)
    loosely = None
    if parted.loose and (not _stands(found) or may_say_more(parted, found)):
        loosely = of(that_explain(parted, found, incident), aside)
    if loosely is not None and loosely[0].outcome is not Outcome.HEALTHY:
        found, incident = loosely
    else:
        told = Counter(e.source.artifact for e in parted.events if tells_of_an_event(e))
        loose = (Beside(artifact=n, why="untied", told=told[n]) for n in sorted(parted.loose))
        besides = (*besides, *loose)
    partly = any(problem.component == SPENT for problem in gathered.problems)
    if found.outcome is Outcome.HEALTHY and (
        partly
        or parted.rivals
        or not parted.well
        or not _all_ended_well(gathered, parted, incident)
    ):
        summary = Message(key="summary.no_failure")
        found = replace(found, outcome=Outcome.UNDETERMINED, confidence=0.0, summary=summary)
    told_of = (*_tell(besides), *_tell_of_rivals(parted.rivals))
    return replace(found, problems=(*found.problems, *told_of)), incident


def _all_ended_well(gathered: Gathered, parted: Parted, incident: Incident) -> bool:
    """Whether the good end that a log tells is that of the whole job."""
    aside = parted.loose.union(file.artifact for file in parted.besides)
    names = [a.name for a in gathered.artifacts if a.name not in aside]
    return is_of_all(incident, names, gathered.bears_out, gathered.work_at_the_end)


def _stands(found: Diagnosis) -> bool:
    """Whether a verdict says what happened."""
    return found.outcome in (Outcome.CAUSE, Outcome.HEALTHY)


def _judge(
    events: Sequence[Event],
    names: Sequence[str],
    gathered: Gathered,
    framework: str | None,
    models: Sequence[Architecture],
    *,
    contested: bool,
) -> tuple[Diagnosis, Incident]:
    """The verdict on what is of the job, and the facts of the incarnation that it is about."""
    incidents = assemble(events, len(names))
    counted = tuple(gathered.counted)
    last = replace(incidents[-1], counted=counted, introduced=gathered.introduced)
    words = gathered.words_in(names)
    incidents = tuple(
        replace(one, contested=contested, words=words) for one in (*incidents[:-1], last)
    )
    if framework is not None:
        told = (framework.lower(), "named by the caller")
        incidents = tuple(replace(incident, framework=told) for incident in incidents)
    verdicts = [_verdict(incident, models) for incident in incidents]
    last = incidents[-1]
    at_work = {state_of_work(event) for event in (*last.events, *last.counted)} - {None}
    apart = any(start.launch for start in last.all(Restarted)) or any(
        len(incident.all(SettingTried)) > 0 for incident in incidents
    )
    works = len(at_work) >= LONG_AT_WORK and (last.restarted or not apart)
    false_starts = len(at_work) >= LONG_AT_WORK and not any(
        _has_begun(incident) or verdict.cause not in (None, Cause.RENDEZVOUS)
        for incident, verdict in zip(incidents[:-1], verdicts[:-1], strict=True)
    )
    # Between a good end and the next start nothing runs: what is told there is of no run.
    runs = [v for v, i in zip(verdicts, incidents, strict=True) if i is last or not was_over(i)]
    recovered = last.restarted or false_starts or (not apart and counts_on(incidents))
    headline = _headline(runs, recovered=recovered, works=works)
    whole = replace(
        headline,
        earlier=tuple(v for v in verdicts if v is not headline),
        warnings=tuple(warning for verdict in verdicts for warning in verdict.warnings),
        problems=(*headline.problems, *gathered.problems),
    )
    if len(runs) < len(verdicts) and whole.outcome is Outcome.HEALTHY:  # perhaps a stage failed
        unseen = Message(key="summary.no_failure")
        whole = replace(whole, outcome=Outcome.UNDETERMINED, confidence=0.0, summary=unseen)
    return whole, incidents[verdicts.index(headline)]


def _has_begun(incident: Incident) -> bool:
    """Whether a run came to work or to a wait, or was one of two that compare a setting."""
    at_work = any(state_of_work(event) is not None for event in incident.events)
    return at_work or len(incident.calls) > 0 or len(incident.all(SettingTried)) > 0


_BESIDE = {
    "written": "it reads like something that people wrote, not like the output of a program",
    "unlike": "few of its lines look like the output of a job, and nothing ties it to one",
    "untied": "no host, process, rank, identifier or time in it is one of the job's",
    "another_time": "its times are not those of the job",
    "past": "its times are long before the files were saved, and nothing ties it to the job",
    "turned": "the log was rotated since then, and shows the job working normally",
    "another_program": "the processes that it names are of other programs",
    "another_host": "it comes from a host that the job did not use",
}


def _tell(besides: Iterable[Beside]) -> Iterator[Problem]:
    for file in besides:
        if file.told > 0:
            count = f"{file.told} line{'' if file.told == 1 else 's'} of it"
            why = f"could be evidence, but {_BESIDE[file.why]}"
            message = f"{count} {why}; not judged (to judge it, give it alone)"
            yield Problem(artifact=file.artifact, component="ties", message=message)


def _tell_of_rivals(rivals: Iterable[str]) -> Iterator[Problem]:
    for name in sorted(rivals):
        message = "this may be the log of another job than the other files; give those of one job"
        yield Problem(artifact=name, component="ties", message=message)


def _verdict(incident: Incident, models: Sequence[Architecture]) -> Diagnosis:
    judgement = judge(incident)
    broken = (*judgement.problems, *incident.problems)
    guard = Guard()
    signs = guard.call("signs", (), read_signs, incident, judgement.findings)
    findings = guard.call(
        "doubts", judgement.findings, as_a_whole, incident, signs, judgement.findings
    )
    diagnosis = rank(incident, findings)
    if broken and diagnosis.outcome is Outcome.HEALTHY:  # what failed may have seen the failure
        undetermined = Message(key="summary.undetermined")
        diagnosis = replace(diagnosis, outcome=Outcome.UNDETERMINED, summary=undetermined)
    likely = guard.call("likely", None, weigh, incident, diagnosis, signs, findings)
    diagnosis = replace(diagnosis, signs=signs, likely=likely)
    fixes, rejected = guard.call("remedies", ((), ()), suggest, incident, diagnosis)
    stuck = diagnosis.call
    told = partial(tell, incident, ended_well=diagnosis.outcome is Outcome.HEALTHY)
    return replace(
        diagnosis,
        contents=() if stuck is None else guard.call("contents", (), contents_of, stuck, models),
        fixes=fixes,
        advice_rejected=rejected,
        story=guard.call("story", (), told),
        collect_next=guard.call("advice", (), advise, incident, diagnosis),
        statements=guard.call("statements", (), hear, incident, diagnosis, judgement.findings),
        standings=incident.standings,
        waits=incident.waits,
        problems=(*broken, *guard.problems),
        fired=tuple(dict.fromkeys(finding.rule for finding in judgement.findings)),
        missing_facts=judgement.missing_facts,
    )


def _headline(verdicts: Sequence[Diagnosis], *, recovered: bool, works: bool) -> Diagnosis:
    """The last failed incarnation; one that was merely stopped counts only if no other failed.

    A job that its launcher restarted, or that was stopped and started again, and that then ended
    well is healthy, and so is one whose ranks met only at the second attempt; where it is at work
    again, what was before is history, too. Runs that were launched apart in one log do not heal
    each other's failures.
    """
    if recovered and verdicts[-1].outcome is Outcome.HEALTHY:
        return verdicts[-1]
    if works and not verdicts[-1].failed:
        return verdicts[-1]
    failed = [v for v in verdicts if v.failed]
    stopped = [v for v in failed if v.cause is Cause.EXTERNAL_STOP]
    broken = [v for v in failed if not (_merely_stopped(v) or (stopped and _is_bare(v)))]
    if not broken and verdicts[-1].outcome is Outcome.HEALTHY:
        return verdicts[-1]
    return (broken or stopped or failed or verdicts)[-1]


def _merely_stopped(verdict: Diagnosis) -> bool:
    """A stop is the cause, or all that there is to tell."""
    if verdict.cause is not None:
        return verdict.cause is Cause.EXTERNAL_STOP
    causes = {c.cause for c in verdict.candidates}
    watched = any(statement.source is Source.WATCH for statement in verdict.statements)
    seen = watched and verdict.outcome is Outcome.LOCATED  # who kept the others, before the stop
    return not seen and verdict.call is None and causes == {Cause.EXTERNAL_STOP}


def _is_bare(verdict: Diagnosis) -> bool:
    """A failure without a cause, a place or a wait: a restart that misses who was stopped."""
    return verdict.outcome is Outcome.UNDETERMINED and verdict.call is None
