"""`unhang diagnose`: one verdict from whatever is left of a failed job, or on one that runs."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from unhang.commands.output import Target, with_form, with_target, write_text
from unhang.commands.redacting import redactor_for, with_patterns
from unhang.errors import UsageError
from unhang.model.diagnosis import Outcome

if TYPE_CHECKING:
    from unhang.model.diagnosis import Diagnosis


@click.command(name="diagnose")
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--pid", type=int, metavar="PID", help="A running job: its launcher or any rank.")
@click.option("--job", metavar="ID", help="A running job, by its Slurm job number.")
@click.option("--container", metavar="NAME", help="A running job, by the name of its container.")
@with_form("terminal", "json", "markdown", "html", "oneline", "prompt", prints="the verdict")
@click.option(
    "--framework", metavar="NAME", help="Framework to write fixes for, if the logs do not show it."
)
@click.option(
    "--model", metavar="MODEL",
    help="The model (a name or a config.json): identifies the tensors in the stuck call.",
)  # fmt: skip
@click.option(
    "--redact/--no-redact",
    "redact",
    default=None,
    help="Replace secrets in the report (default: in markdown, html and prompt).",
)
@with_patterns
@click.option(
    "--memory", metavar="SIZE",
    help="Approximate limit on the memory for what is read, such as 500MB (default: 1 GiB); "
    "judging it may take half as much again, and the program itself some 80 MB.",
)  # fmt: skip
@click.option(
    "--limit", "limit_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="Stop reading after this time, and judge what was read.",
)  # fmt: skip
@click.option(
    "--engine",
    default="local",
    show_default=True,
    metavar="ENGINE",
    help="Who reads: local, or the workers of a Ray cluster (ray, ray://HOST:PORT).",
)
@click.option(
    "--exit-code", is_flag=True, help="Exit with 0 healthy, 1 cause, 3 located, 4 undetermined."
)
@with_target
def command(
    *,
    paths: tuple[str, ...],
    pid: int | None,
    job: str | None,
    container: str | None,
    form: str,
    framework: str | None,
    model: str | None,
    redact: bool | None,
    redact_hosts: bool,
    redact_patterns: tuple[str, ...],
    redact_rules: str | None,
    memory: str | None,
    limit_s: float | None,
    engine: str,
    exit_code: bool,
    to: Target,
) -> int:
    """Name the guilty ranks and the root cause of a failed job.

    PATH is a log, a folder of logs, a glob, an archive, a URL, or - for standard input (the default
    when input is piped in). Give everything that is left of the job: the more ranks, the surer the
    verdict.

        unhang diagnose logs/

        unhang diagnose --pid 4711

    With --pid, --job or --container unhang examines a job that is running on this host. It takes
    two samples within a few seconds; the job keeps running. Without arguments it lists your torch
    jobs on this host.
    """
    from unhang.commands.progress import ReadingProgress
    from unhang.commands.running import find_job, list_jobs, look
    from unhang.model.units import size
    from unhang.reporters import PUBLIC_FORMS, redacted, render

    asked = redact_hosts or redact_patterns or redact_rules is not None
    if redact is None:
        redact = bool(asked) or form in PUBLIC_FORMS
    elif not redact and asked:
        raise UsageError("--no-redact contradicts the other --redact options; give one of them")
    redactor = (
        redactor_for(hosts=redact_hosts, patterns=redact_patterns, rules=redact_rules)
        if redact
        else None
    )

    if pid is not None or job is not None or container is not None:
        if paths:
            raise UsageError("give either PATHs, or one of --pid, --job and --container")
        found = find_job(pid, job, container)
        diagnosis = look(found, framework=framework, model=model, lang=to.lang)
    elif not paths and not _is_piped():
        write_text(list_jobs(to.lang) + "\n")
        return 0
    else:
        with ReadingProgress() as progress:
            options = {
                "framework": framework,
                "model": model,
                "progress": progress,
                "memory": None if memory is None else size(memory, "--memory"),
                "limit_s": limit_s,
                "engine": engine,
            }
            diagnosis = _judge(paths or ("-",), options, with_times=form == "html")
    if redactor is not None:
        diagnosis = redacted(diagnosis, redactor)
    to.write(partial(render, diagnosis, form, redact=False))
    return _CODES[diagnosis.outcome] if exit_code else 0


def _judge(paths: Sequence[str], options: Mapping[str, Any], *, with_times: bool) -> Diagnosis:
    """The verdict; a page has room for times of all ranks, and for lines around quoted ones."""
    from unhang.api import diagnose, examine
    from unhang.reporters.view import quoted_lines
    from unhang.sources.excerpts import excerpts

    if not with_times:
        return diagnose(*paths, **options, processes=None)
    from unhang.tracing import activity_of, make_trace

    diagnosis, incident = examine(*paths, **options, processes=None)
    try:
        activity = activity_of(make_trace(paths, incident))
    except UsageError:  # nothing tells a time
        activity = None
    return replace(diagnosis, activity=activity, excerpts=excerpts(quoted_lines(diagnosis)))


def _is_piped() -> bool:
    """Whether standard input is a pipe or a file."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


_CODES = {Outcome.HEALTHY: 0, Outcome.CAUSE: 1, Outcome.LOCATED: 3, Outcome.UNDETERMINED: 4}
"""What `--exit-code` tells; 2 is an unusable request."""
