"""`unhang bench`: how fast collectives are here, and which settings make them faster."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from unhang.commands.output import Target, with_form, with_target


@click.command(name="bench")
@click.option("--op", "operations", multiple=True, metavar="NAME", help="Operation (all_reduce).")
@click.option("--sizes", default="4KiB..4MiB", show_default=True, help="Sizes: a range or a list.")
@click.option("--repeats", type=int, default=5, show_default=True, help="Calls of each size.")
@click.option("--runs", type=int, default=1, show_default=True, help="Runs, each in new processes.")
@click.option("--sweep", multiple=True, metavar="NAME=A,B", help="Compare values of a variable.")
@click.option("--backend", metavar="NAMES", help="gloo, nccl, or gloo,nccl to compare them.")
@click.option(
    "--group", "groups", multiple=True, metavar="NAME",
    help="Ranks that call together: all, host, pair.  [default: all]",
)  # fmt: skip
@click.option("--ranks", type=int, metavar="N", help="Start N ranks on this host (2).")
@click.option("--port", type=int, metavar="N", help="Port of rank 0 (default: MASTER_PORT + 1).")
@with_form("terminal", "json", "nccl-tests", prints="the measurements")
@with_target
def command(
    *,
    form: str,
    to: Target,
    **options: Any,  # noqa: ANN401 - passed on to `unhang.benching`, which knows their types
) -> int:
    """Measure collectives, and compare settings in alternating runs.

    Runs on this host, or on a cluster if the job's own launcher starts it on every rank. Every
    result is verified bit for bit. Bandwidths are defined as in nccl-tests: algbw = bytes / time,
    busbw = algbw times a factor that depends on the operation.

    With --sweep, each combination of values runs --runs times in new processes, and the
    combinations alternate. The answer is faster, slower, no difference shown, or more runs needed,
    with a 95 % interval.

    With --group pair, each pair of hosts (or of ranks, on one host) is measured as well, which
    gives a map of the bandwidth between them.
    """
    from unhang.benching import bench
    from unhang.reporters.bench import render_bench

    options["operations"] = options["operations"] or ("all_reduce",)
    options["groups"] = options["groups"] or ("all",)
    report = bench(**options)
    if report is not None:
        to.write(partial(render_bench, report, form))
    return 0
