"""`unhang timeline PATH…`: one trace of a job, from whatever tells times."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from unhang.commands.output import Target, with_language
from unhang.errors import UsageError


@click.command(name="timeline")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option(
    "-o", "--output", metavar="FILE", default="trace.pftrace", show_default=True,
    help="The file to write: a trace, or a heatmap where it ends in .html.",
)  # fmt: skip
@click.option(
    "--format",
    "form",
    type=click.Choice(("perfetto", "html")),
    help="What to write (default: by the name of FILE).",
)
@with_language
def command(*, paths: tuple[str, ...], output: str, form: str | None, to: Target) -> int:
    """Write a Perfetto trace or a heatmap of what each rank did.

    PATH holds records with times: Flight Recorder dumps, a run folder of `unhang run`, profiles of
    torch.profiler, a timeline of Ray, logs of NCCL Inspector, logs with times, or a folder of
    these. Open the trace at https://ui.perfetto.dev; nothing is uploaded.

        unhang timeline dumps/ -o trace.pftrace

    Each rank is a process, each process group a track; arrows join the members of a call, and
    calls that never completed are marked. The clocks of hosts are aligned by their common calls;
    the correction and its possible error are printed.
    """
    from unhang.reporters.timeline import render_heatmap, summary
    from unhang.tracing import activity_of, timeline
    from unhang.tracing.perfetto import encode_trace

    trace = timeline(*paths)
    if form == "html" or (form is None and output.endswith((".html", ".htm"))):
        told = partial(render_heatmap, trace, activity_of(trace))
        replace(to, output=output).write(told)
    else:
        try:
            Path(output).write_bytes(encode_trace(trace))
        except OSError as error:
            raise UsageError(
                f"cannot write {output}: {error.strerror}; name a file in a folder that exists"
            ) from error
    to.write(partial(summary, trace, output))
    return 0
