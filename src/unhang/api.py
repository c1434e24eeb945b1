"""Wires the pipeline; prints nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from unhang.architectures import model_of
from unhang.engine.budget import Budget
from unhang.engine.gather import Gathered, Progress, gather
from unhang.engine.shards import Engine
from unhang.judging import judge_gathered, judged
from unhang.model.diagnosis import Diagnosis, Stats
from unhang.model.events import Event
from unhang.model.incident import Incident
from unhang.sources.artifact import Artifact
from unhang.sources.discover import discover

if TYPE_CHECKING:
    from unhang.model.comparison import Comparison
    from unhang.model.explanation import Explanation, RuleCard
    from unhang.model.fleet import Fleet
    from unhang.model.lint import LintReport
    from unhang.model.plan import Plan
    from unhang.model.rewrite import ChangedFile, Rewrite

StrPath: TypeAlias = str | os.PathLike[str]


def diagnose(
    *paths: StrPath,
    framework: str | None = None,
    model: str | None = None,
    progress: Progress | None = None,
    processes: int | None = 1,
    engine: str = "local",
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
        engine: `ray`, or `ray://HOST:PORT`: the workers of that cluster read instead.
        memory: bytes that reading and judging may use, about; None = 1 GiB.
        limit_s: seconds after which reading ends; None = when all is read. What was read before
            either is spent is judged, and `problems` tells how much that was.

    Returns:
        The verdict on the last failed incarnation; earlier ones are in `earlier`.

    Raises:
        UsageError: a path does not exist, there is nothing to read, the model is unknown, or no Ray
            cluster is there.
    """
    return examine(
        *paths,
        framework=framework,
        model=model,
        progress=progress,
        processes=processes,
        engine=engine,
        memory=memory,
        limit_s=limit_s,
    )[0]


def examine(
    *paths: StrPath,
    framework: str | None = None,
    model: str | None = None,
    progress: Progress | None = None,
    processes: int | None = 1,
    engine: str = "local",
    memory: int | None = None,
    limit_s: float | None = None,
) -> tuple[Diagnosis, Incident]:
    """Return what `diagnose` returns, and the facts of the incarnation that it is about."""
    started = time.perf_counter()
    models = () if model is None else (model_of(model),)
    readers = Engine.named(engine, processes)
    gathered = gather(discover(_named(paths)), progress, readers, Budget.of(memory, limit_s))
    diagnosis, incident = judged(gathered, framework, models)
    return replace(diagnosis, stats=_stats(gathered, started)), incident


def explain(word: str, *, model: str | None = None) -> Explanation:
    """Return the manual page of a rule, a cause, a setting or an error line; nothing is fetched.

    Args:
        word: a code (`CRA001`), a name, a cause (`gpu_oom`), a setting, lines of a log, or the
            number of elements of a collective.
        model: what is trained, for sizes in the lines; None = any model that is known by name.

    Raises:
        UsageError: nothing is known of the word; the message names what is close to it.
    """
    from unhang import explaining

    return explaining.explain(word, () if model is None else (model_of(model),))


def lint(
    *paths: StrPath,
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
    from unhang.linting import lint_settings

    return lint_settings(_named(paths), pid=pid, nccl=nccl, torch=torch, framework=framework)


def repair(
    *paths: StrPath,
    nccl: str | None = None,
    torch: str | None = None,
    framework: str | None = None,
    write: bool = False,
) -> tuple[ChangedFile, ...]:
    """Repair what `lint` finds and what is mechanical: new names, words that are not understood.

    Args:
        paths: as `lint` takes them.
        nccl: as `lint` takes it.
        torch: as `lint` takes it.
        framework: as `lint` takes it.
        write: put the changed files in their places; else they stay as they are.

    Returns:
        The files that change, before and after.

    Raises:
        UsageError: a path cannot be read, or a file cannot be written.
    """
    from functools import partial

    from unhang.fixing.mechanical import repair as repaired
    from unhang.linting import lint_text

    report = lint(*paths, nccl=nccl, torch=torch, framework=framework)
    look = partial(lint_text, nccl=nccl, torch=torch, framework=framework)
    return repaired(report, look, write=write)


def fix(
    config: StrPath | Sequence[StrPath],
    verdict: Diagnosis | StrPath,
    *,
    fixes: Sequence[int] = (),
    apply: bool = False,
) -> Rewrite:
    """Write fixes of a verdict into the user's files; comments, order and layout stay.

    Args:
        config: a configuration (YAML, JSON, TOML), a script, a Dockerfile, a manifest; or several
            of one job, such as its launch script, its YAML and DeepSpeed's JSON.
        verdict: what `diagnose` returned, or the path of its JSON; `-` is standard input.
        fixes: which fixes, by their place in the verdict, from 1; none = the best that fits.
        apply: write the files, each atomically, with a copy of the old one beside it.

    Returns:
        The files before and after; nothing was written unless `backup` is set.

    Raises:
        UsageError: a file cannot be read or written, or no fix can be put in safely; the message
            says what to do by hand.
    """
    from unhang.fixing import rewrite

    configs = [config] if isinstance(config, (str, os.PathLike)) else config
    return rewrite(_named(configs), verdict, numbers=fixes, apply=apply)


def plan(model: str | None = None, *, sources: Iterable[StrPath] = (), **options: object) -> Plan:
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

    return make_plan(build_request(model, _named(sources), **options))


def compare(before: Iterable[StrPath], after: Iterable[StrPath]) -> Comparison:
    """Say whether the runs after a change fail less often than those before it.

    Args:
        before: run folders, folders of them, tables of jobs, verdicts, or logs of one run each.
        after: likewise.

    Raises:
        UsageError: one side holds nothing that can be read.
    """
    from unhang.comparing import compare_runs, read_runs

    def judged(path: str) -> tuple[Diagnosis, Sequence[Event]]:
        gathered = gather(discover((path,)), engine=Engine())
        return judge_gathered(gathered), gathered.events

    one, problems = read_runs(_named(before), judged)
    two, more = read_runs(_named(after), judged)
    return compare_runs(one, two, (*problems, *more))


def fleet(
    *roots: StrPath,
    store: StrPath = "unhang-fleet",
    depth: int = 1,
    processes: int | None = None,
    engine: str = "local",
    sacct: str | None = None,
    progress: Progress | None = None,
) -> Fleet:
    """Judge all jobs below folders, and say what fails, and at which hosts it recurs.

    Args:
        roots: folders of jobs, or URLs of them (`s3://…`): Slurm output, run folders, bundles,
            logs.
        store: folder that keeps what is known of each job, so that the next time is quick.
        depth: levels from a root to the folders that are a job each.
        processes: how many judge at once; None = one for each core.
        engine: `ray`, or `ray://HOST:PORT`: the workers of that cluster judge instead.
        sacct: a table that `sacct -P` printed: hosts, hours and GPUs as the scheduler counted them.
        progress: is told the jobs that are done, and how many there are.

    Raises:
        UsageError: a root is no folder, there is no job, or the store cannot be written.
    """
    from unhang.surveying import survey
    from unhang.surveying.sacct import read_accounting

    return survey(
        _named(roots),
        judge_gathered,
        store=Path(store),
        depth=depth,
        engine=Engine.named(engine, processes),
        accounting=None if sacct is None else read_accounting(sacct),
        progress=progress or (lambda _done, _of: None),
    )


def rules() -> tuple[RuleCard, ...]:
    """Return a card of every rule, ordered by code."""
    from unhang.explaining import card
    from unhang.rules import RULES

    return tuple(card(rule) for rule in RULES)


def _named(paths: Iterable[StrPath]) -> tuple[str, ...]:
    return tuple(os.fspath(path) for path in paths)


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
