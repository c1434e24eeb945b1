"""Wires the pipeline; prints nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from unhang import explaining
from unhang.architectures import Architecture, model_of
from unhang.assemble import assemble
from unhang.assemble.beside import Beside, Parted, set_aside
from unhang.engine.budget import Budget
from unhang.engine.gather import Gathered, Progress, cores, gather
from unhang.engine.reading import SPENT
from unhang.linting import lint_settings
from unhang.model.causes import Cause
from unhang.model.comparison import Comparison
from unhang.model.diagnosis import Diagnosis, Outcome, Stats
from unhang.model.events import Event, KernelEvent
from unhang.model.events import Progress as Step
from unhang.model.explanation import Explanation, RuleCard
from unhang.model.fleet import Fleet
from unhang.model.guard import Guard
from unhang.model.incident import Incident
from unhang.model.lint import LintReport
from unhang.model.plan import Plan
from unhang.model.provenance import Message, Problem
from unhang.model.rewrite import Rewrite
from unhang.remedies import suggest
from unhang.rules import RULES
from unhang.sources.artifact import Artifact
from unhang.sources.discover import discover
from unhang.verdict.contents import contents_of
from unhang.verdict.corroboration import hear
from unhang.verdict.course_of_events import tell
from unhang.verdict.likely import weigh
from unhang.verdict.next_evidence import advise
from unhang.verdict.ranking import rank
from unhang.verdict.rule_results import judge
from unhang.verdict.signs import read_signs


def diagnose(
    *paths: str,
    framework: str | None = None,
    model: str | None = None,
    progress: Progress | None = None,
    processes: int | None = 1,
    memory: int | None = None,
    limit_s: float | None = None,
) -> Diagnosis:
    """Judge what is left of a job.

    Args:
        paths: files, folders, globs or archives; `-` is standard input.
        framework: the framework that the job used, where the caller knows better than the logs.
        model: what is trained (a known name, a config.json, weights), so that the sizes of the
            stuck call tell its tensors; None = any model that is known by name.
        progress: is told now and then the bytes that have been read, and of how many.
        processes: how many may read at once; 1 = only this one, so that none is started; None = one
            for each core where there is much to read.
        memory: bytes that reading and judging may use, about; None = 1 GiB.
        limit_s: seconds after which reading ends; None = when all is read. What was read before
            either is spent is judged, and `problems` tells how much that was.

    Returns:
        The verdict on the last failed incarnation; earlier ones are in `earlier`.

    Raises:
        UsageError: a path does not exist, there is nothing to read, or the model is unknown.
    """
    return examine(
        *paths,
        framework=framework,
        model=model,
        progress=progress,
        processes=processes,
        memory=memory,
        limit_s=limit_s,
    )[0]


def examine(
    *paths: str,
    framework: str | None = None,
    model: str | None = None,
    progress: Progress | None = None,
    processes: int | None = 1,
    memory: int | None = None,
    limit_s: float | None = None,
) -> tuple[Diagnosis, Incident]:
    """Return what `diagnose` returns, and the facts of the incarnation that it is about."""
    started = time.perf_counter()
    models = () if model is None else (model_of(model),)
    gathered = gather(discover(paths), progress, processes, Budget.of(memory, limit_s))
    diagnosis, incident = _judged(gathered, framework, models)
    return replace(diagnosis, stats=_stats(gathered, started)), incident


def judge_gathered(
    gathered: Gathered, framework: str | None = None, models: Sequence[Architecture] = ()
) -> Diagnosis:
    """Judge what was read.

    Args:
        gathered: the events of all artifacts, and what could not be read.
        framework: see `diagnose`.
        models: what may be trained; none = any model that is known by name.
    """
    return _judged(gathered, framework, models)[0]


def _judged(
    gathered: Gathered, framework: str | None, models: Sequence[Architecture]
) -> tuple[Diagnosis, Incident]:
    """The verdict, and the facts of the incarnation that it is about."""
    parted = set_aside(gathered.events, gathered.artifacts, gathered.look)
    besides = parted.besides
    artifacts = len(gathered.artifacts) - len(besides)

    def judged(events: Sequence[Event], count: int) -> tuple[Diagnosis, Incident]:
        return _judge(events, count, gathered, framework, models)

    found, incident = judged(parted.without_loose(), artifacts - len(parted.loose))
    loosely = None
    if parted.loose and not _stands(found):
        loosely = judged(_explaining(parted, found), artifacts)
    if loosely is not None and loosely[0].outcome is not Outcome.HEALTHY:
        found, incident = loosely
    else:
        loose = (Beside(artifact=name, why="untied", told=1) for name in sorted(parted.loose))
        besides = (*besides, *loose)
    partly = any(problem.component == SPENT for problem in gathered.problems)
    if found.outcome is Outcome.HEALTHY and (partly or not parted.well):
        summary = Message(key="summary.no_failure")
        found = replace(found, outcome=Outcome.UNDETERMINED, confidence=0.0, summary=summary)
    return replace(found, problems=(*found.problems, *map(_beside, besides))), incident


def _stands(found: Diagnosis) -> bool:
    """Whether a verdict says what happened."""
    return found.outcome in (Outcome.CAUSE, Outcome.HEALTHY)


def _explaining(parted: Parted, found: Diagnosis) -> Sequence[Event]:
    """The events with those of loose files that may decide.

    What a kernel tells of its host may explain a failure of the job, but makes none, and blames no
    rank that something else has found.
    """
    if _failed(found) and found.outcome is not Outcome.LOCATED:
        return parted.events
    return [
        event
        for event in parted.events
        if not isinstance(event, KernelEvent) or event.source.artifact not in parted.loose
    ]


def _judge(
    events: Sequence[Event],
    artifacts: int,
    gathered: Gathered,
    framework: str | None,
    models: Sequence[Architecture],
) -> tuple[Diagnosis, Incident]:
    """The verdict on what is of the job, and the facts of the incarnation that it is about."""
    incidents = assemble(events, artifacts)
    if framework is not None:
        told = (framework.lower(), "named by the caller")
        incidents = tuple(replace(incident, framework=told) for incident in incidents)
    verdicts = [_verdict(incident, models) for incident in incidents]
    last = incidents[-1]
    works = last.restarted and len({p.done for p in last.all(Step)}) >= _STATES_OF_WORK
    headline = _headline(verdicts, recovered=last.restarted, works=works)
    whole = replace(
        headline,
        earlier=tuple(v for v in verdicts if v is not headline),
        warnings=tuple(warning for verdict in verdicts for warning in verdict.warnings),
        problems=(*headline.problems, *gathered.problems),
    )
    return whole, incidents[verdicts.index(headline)]


def explain(word: str, *, model: str | None = None) -> Explanation:
    """Return the manual page of a rule, a cause, a setting or an error line; nothing is fetched.

    Args:
        word: a code (`CRA001`), a name, a cause (`gpu_oom`), a setting, lines of a log, or the
            number of elements of a collective.
        model: what is trained, for sizes in the lines; None = any model that is known by name.

    Raises:
        UsageError: nothing is known of the word; the message names what is close to it.
    """
    return explaining.explain(word, () if model is None else (model_of(model),))


def lint(
    *paths: str,
    pid: int | None = None,
    nccl: str | None = None,
    torch: str | None = None,
    framework: str | None = None,
) -> LintReport:
    """Judge settings before they cost a job: those that do nothing, or harm.

    Args:
        paths: scripts, configurations, or folders of them; none = this process's environment.
        pid: a running process, read with everything that descends from it.
        nccl: its release, where it is not the installed one.
        torch: its release, where it is not the installed one.
        framework: `name` or `name==version`.

    Raises:
        UsageError: a path or the process cannot be read.
    """
    return lint_settings(paths, pid=pid, nccl=nccl, torch=torch, framework=framework)


def fix(
    config: str,
    verdict: Diagnosis | str | os.PathLike[str],
    *,
    fixes: Sequence[int] = (),
    apply: bool = False,
) -> Rewrite:
    """Write fixes of a verdict into a file of the user's; comments, order and layout stay.

    Args:
        config: a configuration (YAML, JSON, TOML), a script, a Dockerfile, a manifest.
        verdict: what `diagnose` returned, or the path of its JSON; `-` is standard input.
        fixes: which fixes, by their place in the verdict, from 1; none = the best that fits.
        apply: write the file, atomically, with a copy of the old one beside it.

    Returns:
        The file before and after; nothing was written unless `backup` is set.

    Raises:
        UsageError: a file cannot be read or written, or no fix can be put in safely; the message
            says what to do by hand.
    """
    from unhang.fixing import rewrite

    return rewrite(config, verdict, numbers=fixes, apply=apply)


def plan(model: str | None = None, *, sources: Iterable[str] = (), **options: object) -> Plan:
    """Compute memory, checkpoints and the time limit of each process group.

    Args:
        model: a known name (`llama-3-8b`), the path of a config.json or of weights, or a number of
            parameters (`7B`); None = one of `sources` names it.
        sources: a framework's configuration, a verdict's JSON, or a run folder.
        options: fields of `unhang.planning.Request`, such as `world=8`, `gpu_memory="80GB"`,
            `write_speed="1GB/s"`, `strategy="fsdp"`; `storage` is a folder to measure.

    Raises:
        UsageError: a field is missing or cannot be what it is said to be.
    """
    from unhang.planning import build_request, make_plan

    return make_plan(build_request(model, sources, **options))


def compare(before: Iterable[str], after: Iterable[str]) -> Comparison:
    """Say whether the runs after a change fail less often than those before it.

    Args:
        before: run folders, folders of them, tables of jobs, verdicts, or logs of one run each.
        after: likewise.

    Raises:
        UsageError: one side holds nothing that can be read.
    """
    from unhang.comparing import compare_runs, read_runs

    def judged(path: str) -> tuple[Diagnosis, Sequence[Event]]:
        gathered = gather(discover((path,)), processes=1)
        return judge_gathered(gathered), gathered.events

    one, problems = read_runs(before, judged)
    two, more = read_runs(after, judged)
    return compare_runs(one, two, (*problems, *more))


def fleet(
    *roots: str,
    store: str = "unhang-fleet",
    depth: int = 1,
    processes: int | None = None,
    sacct: str | None = None,
    progress: Progress | None = None,
) -> Fleet:
    """Judge all jobs below folders, and say what fails, and at which hosts it recurs.

    Args:
        roots: folders of jobs: Slurm output, run folders, bundles, logs.
        store: folder that keeps what is known of each job, so that the next time is quick.
        depth: levels from a root to the folders that are a job each.
        processes: how many judge at once; None = one for each core.
        sacct: a table that `sacct -P` printed: hosts, hours and GPUs as the scheduler counted them.
        progress: is told the jobs that are done, and how many there are.

    Raises:
        UsageError: a root is no folder, there is no job, or the store cannot be written.
    """
    from unhang.surveying import survey
    from unhang.surveying.sacct import read_accounting

    return survey(
        roots,
        judge_gathered,
        store=Path(store),
        depth=depth,
        processes=processes or cores(),
        accounting=None if sacct is None else read_accounting(sacct),
        progress=progress or (lambda _done, _of: None),
    )


def rules() -> tuple[RuleCard, ...]:
    """Return a card of every rule, ordered by code."""
    return tuple(explaining.card(rule) for rule in RULES)


_BESIDE = {
    "written": "it reads like something that people wrote, not like the output of a program",
    "untied": "no host, process, rank, identifier or time in it is one of the job's",
    "another_time": "it is of another time than the job",
    "past": "it is of a time long before the files were saved, and nothing ties it to the job",
    "turned": "the log was turned over since, and shows the job well at work",
    "another_host": "it is of a host that the job did not use",
}


def _beside(file: Beside) -> Problem:
    count = f"{file.told} line{'' if file.told == 1 else 's'} of it"
    why = f"could be evidence, but of another job: {_BESIDE[file.why]}"
    message = f"{count} {why}; not judged (to judge it, give it alone)"
    return Problem(artifact=file.artifact, component="ties", message=message)


def _verdict(incident: Incident, models: Sequence[Architecture]) -> Diagnosis:
    judgement = judge(incident)
    broken = (*judgement.problems, *incident.problems)
    diagnosis = rank(incident, judgement.findings)
    if broken and diagnosis.outcome is Outcome.HEALTHY:  # what failed may have seen the failure
        undetermined = Message(key="summary.undetermined")
        diagnosis = replace(diagnosis, outcome=Outcome.UNDETERMINED, summary=undetermined)
    guard = Guard()
    signs = guard.call("signs", (), read_signs, incident, judgement.findings)
    likely = guard.call("likely", None, weigh, incident, diagnosis, signs, judgement.findings)
    diagnosis = replace(diagnosis, signs=signs, likely=likely)
    fixes, rejected = guard.call("remedies", ((), ()), suggest, incident, diagnosis)
    stuck = diagnosis.call
    return replace(
        diagnosis,
        contents=() if stuck is None else guard.call("contents", (), contents_of, stuck, models),
        fixes=fixes,
        advice_rejected=rejected,
        story=guard.call("story", (), tell, incident),
        collect_next=guard.call("advice", (), advise, incident, diagnosis),
        statements=guard.call("statements", (), hear, incident, diagnosis, judgement.findings),
        standings=incident.standings,
        waits=incident.waits,
        problems=(*broken, *guard.problems),
        fired=tuple(dict.fromkeys(finding.rule for finding in judgement.findings)),
        missing_facts=judgement.missing_facts,
    )


_STATES_OF_WORK = 10
"""States of work after which a job that was started again is under way."""


def _headline(verdicts: Sequence[Diagnosis], *, recovered: bool, works: bool) -> Diagnosis:
    """The last failed incarnation; one that was merely stopped counts only if no other failed.

    A job that its launcher restarted, or that was stopped and started again, and that then ended
    well is healthy; where it is at work again, what was before is history, too. Separate runs in
    one log do not heal each other's failures.
    """
    if recovered and verdicts[-1].outcome is Outcome.HEALTHY:
        return verdicts[-1]
    if works and not _failed(verdicts[-1]):
        return verdicts[-1]
    failed = [v for v in verdicts if _failed(v)]
    broken = [v for v in failed if not _merely_stopped(v)]
    if not broken and verdicts[-1].outcome is Outcome.HEALTHY:
        return verdicts[-1]
    return (broken or failed or verdicts)[-1]


def _merely_stopped(verdict: Diagnosis) -> bool:
    """A stop is the cause, or all that there is to tell."""
    if verdict.cause is not None:
        return verdict.cause is Cause.EXTERNAL_STOP
    causes = {c.cause for c in verdict.candidates}
    return verdict.call is None and causes == {Cause.EXTERNAL_STOP}


def _failed(verdict: Diagnosis) -> bool:
    if verdict.outcome is Outcome.UNDETERMINED:
        return verdict.call is not None or len(verdict.candidates) > 0
    return verdict.outcome is not Outcome.HEALTHY


def _stats(gathered: Gathered, started: float) -> Stats:
    return Stats(
        files=len(gathered.artifacts),
        size_bytes=_size(a.size_bytes for a in gathered.artifacts) + _archives(gathered.artifacts),
        events=len(gathered.events),
        seconds=time.perf_counter() - started,
    )


def _archives(artifacts: Iterable[Artifact]) -> int:
    """Bytes of the files whose members were read, each once; those know no size of their own."""
    outer = {a.name.partition("!")[0] for a in artifacts if a.size_bytes is None and "!" in a.name}
    return sum(path.stat().st_size for path in map(Path, outer) if path.is_file())


def _size(sizes: Iterable[int | None]) -> int:
    return sum(size for size in sizes if size is not None)
