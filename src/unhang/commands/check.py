"""`unhang check`: whether a job can begin on this host."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from unhang.commands.output import with_style, write_result

_CODES = {"pass": 0, "warn": 1, "fail": 2, "skip": 3}
"""As plugins of Nagios have them: ok, warning, critical, unknown."""


@click.command(name="check")
@click.option(
    "--for", "job", metavar="PATH",
    help="The job's configuration or launch script, or the verdict on its last failure.",
)  # fmt: skip
@click.option("--checkpoint", metavar="DIR", help="The folder that checkpoints go to.")
@click.option("--no-measure", is_flag=True, help="Write nothing there to measure its speed.")
@click.option("--ranks", type=int, metavar="N", help="Ranks of the job on this host (1).")
@click.option("--baseline", metavar="FILE", help="Compare with FILE; keep this check there if new.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("terminal", "json", "oneline", "html")),
    default=None,
    help="How to print the check.  [default: terminal; with --nagios: oneline]",
)
@click.option("--nagios", is_flag=True, help="Exit with 0 ok, 1 warning, 2 critical, 3 unknown.")
@with_style
def command(
    *,
    job: str | None,
    checkpoint: str | None,
    no_measure: bool,
    ranks: int | None,
    baseline: str | None,
    form: str | None,
    nagios: bool,
    lang: str | None,
    no_color: bool,
    output: str | None,
) -> int:
    """Check a host before a job starts, and say what to repair.

    Memory, swap, cores, shared memory, limits, storage, network, RDMA, GPUs, clock, kernel log,
    releases and the environment, each with a verdict, what it means for a job, and what to do.
    Nothing is changed; no root, no GPU and no torch are needed, and what cannot be looked at is
    named. With --for the job's time limits and its checkpoint are held against this storage.
    """
    from unhang.checking import check
    from unhang.reporters.check import render_check

    kept = baseline is not None and Path(baseline).exists()
    report = check(
        job=job,
        checkpoint=checkpoint,
        ranks=1 if ranks is None else ranks,
        measure=not no_measure,
        baseline=baseline if kept else None,
    )
    if baseline is not None and not kept:
        render = partial(render_check, report, "json")
        write_result(render, lang="en", no_color=True, output=baseline)
    form = form or ("oneline" if nagios else "terminal")
    write_result(partial(render_check, report, form), lang=lang, no_color=no_color, output=output)
    return _CODES[report.status.value] if nagios else 0
