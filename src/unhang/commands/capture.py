"""`unhang capture --pid PID | --run RUN`: a redacted bundle of a live or hung job on this node."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from unhang.commands.output import Target, with_form, with_language
from unhang.commands.redacting import with_patterns

_LIMIT_S = 20.0


@click.command(name="capture")
@click.option(
    "--pid", "pids", type=int, multiple=True, metavar="PID", help="A launcher or rank; repeatable."
)
@click.option("--job", metavar="ID", help="The processes of a Slurm job on this host.")
@click.option("--run", "run_folder", metavar="RUN", help="The run folder of `unhang run`.")
@click.option("--out", metavar="FILE", help="Bundle to write (default: unhang-TIME-HOST here).")
@click.option(
    "--limit",
    "limit_s",
    type=click.FloatRange(min=1, max=600),
    default=_LIMIT_S,
    show_default=True,
    metavar="SECONDS",
    help="Stop after this time, and keep what was collected.",
)
@with_patterns
@click.option(
    "--signal",
    metavar="USR1|USR2",
    help="Ask ranks that registered faulthandler for this signal to print their stacks.",
)
@with_form("terminal", "json", prints="what was taken")
@with_language
def command(
    *,
    pids: tuple[int, ...],
    job: str | None,
    form: str,
    to: Target,
    **options: Any,  # noqa: ANN401 - passed on to `unhang.capturing`, which knows their types
) -> int:
    """Gather evidence of a live or hung job on this node into one redacted file.

    The job keeps running. Give the pid of torchrun (unhang finds its ranks), the pids of ranks, or
    the run folder. Evidence that could not be collected is listed with the reason; secrets are
    redacted.
    """
    from unhang.capturing import capture
    from unhang.capturing.jobs import job_of_scheduler
    from unhang.reporters.capture import render_capture

    known = () if job is None else job_of_scheduler(job).pids
    result = capture(pids=(*pids, *known), **options)
    to.write(partial(render_capture, result, form))
    return 0
