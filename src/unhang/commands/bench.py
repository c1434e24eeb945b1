"""`unhang bench`: how fast collectives are here, and which settings make them faster."""

from __future__ import annotations

from functools import partial

import click

from unhang.commands.output import Target, with_form, with_target


@click.command(name="bench")
@click.option("--op", "operations", multiple=True, metavar="NAME", help="Operation (all_reduce).")
@click.option("--sizes", default="4KiB..4MiB", show_default=True, help="A range, or a list.")
@click.option("--repeats", type=int, default=5, show_default=True, help="Of a call in each run.")
@click.option("--runs", type=int, default=1, show_default=True, help="Fresh processes, in turns.")
@click.option("--sweep", multiple=True, metavar="NAME=A,B", help="Compare values of a variable.")
@click.option("--backend", metavar="NAMES", help="gloo, nccl, or gloo,nccl to compare them.")
@click.option(
    "--group", "groups", multiple=True, metavar="NAME",
    help="all ranks, those of each host, or each pair: all, host, pair.  [default: all]",
)  # fmt: skip
@click.option("--ranks", type=int, metavar="N", help="Start N ranks on this host (2).")
@click.option("--port", type=int, metavar="N", help="Port of rank 0 (after MASTER_PORT).")
@with_form("terminal", "json", "nccl-tests", prints="the measurements")
@with_target
def command(
    *,
    operations: tuple[str, ...],
    sizes: str,
    repeats: int,
    runs: int,
    sweep: tuple[str, ...],
    backend: str | None,
    ranks: int | None,
    port: int | None,
    groups: tuple[str, ...],
    form: str,
    to: Target,
) -> int:
    """Measure collectives, and compare settings in turns.

    On this host, or started on every rank by the job's own launcher on a cluster. Every value is
    compared bit for bit. Bandwidths are those of nccl-tests: algbw = bytes / time, busbw = algbw
    times the factor of the operation.

    With --sweep each combination of values runs in fresh processes, in turns, --runs times. The
    answer is faster, slower, no difference shown, or more runs needed, with a 95 % interval.

    With --group pair each pair of hosts (on one host, of ranks) is measured as well: a map of who
    reaches whom how fast.
    """
    from unhang.benching import bench
    from unhang.reporters.bench import render_bench

    report = bench(
        operations=operations or ("all_reduce",),
        sizes=sizes,
        repeats=repeats,
        runs=runs,
        sweep=sweep,
        backend=backend,
        ranks=ranks,
        port=port,
        groups=groups or ("all",),
    )
    if report is not None:
        to.write(partial(render_bench, report, form))
    return 0
