"""`unhang timeline PATH…`: one trace of a job, from whatever tells times."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from unhang.commands.output import Target, with_language, write_bytes
from unhang.errors import UsageError

_HEATMAPS = {".html": "html", ".htm": "html", ".svg": "svg", ".png": "png"}


@click.command(name="timeline")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option(
    "-o", "--output", metavar="FILE", default="trace.pftrace", show_default=True,
    help="The file to write: a trace, or a heatmap where it ends in .html, .svg or .png.",
)  # fmt: skip
@click.option(
    "--format",
    "form",
    type=click.Choice(("perfetto", "html", "svg", "png")),
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
    from unhang.reporters.style import Style
    from unhang.reporters.timeline import colors, render_heatmap, render_picture, summary
    from unhang.tracing import activity_of, timeline
    from unhang.tracing.perfetto import encode_trace

    trace = timeline(*paths)
    form = form or _HEATMAPS.get(Path(output).suffix.lower(), "perfetto")
    found = None if form == "perfetto" else activity_of(trace)
    if form == "html":
        replace(to, output=output).write(partial(render_heatmap, trace, found))
    elif form == "perfetto":
        write_bytes(output, encode_trace(trace))
    elif found is None:
        raise UsageError(
            "no rank has both start and end times, so there is no heatmap; write a"
            " trace (`-o trace.pftrace`), or give Flight Recorder dumps or a run folder as well"
        )
    else:
        write_bytes(output, render_picture(trace, found, form, Style(language=to.language)))
    to.write(partial(summary, trace, output))
    if form == "png" and found is not None:
        to.write(partial(colors, found))
    return 0
