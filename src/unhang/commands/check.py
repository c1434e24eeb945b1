"""`unhang check`: whether a job can begin on this host."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import click

from unhang.commands.output import Target, with_target, write_file


@click.command(name="check")
@click.option(
    "--for", "job", metavar="PATH",
    help="The job's configuration or launch script, or the verdict on its last failure.",
)  # fmt: skip
@click.option("--checkpoint", metavar="DIR", help="The folder that checkpoints go to.")
@click.option("--no-measure", is_flag=True, help="Do not measure the speed of that folder.")
@click.option("--ranks", type=int, metavar="N", help="Ranks of the job on this host (1).")
@click.option("--baseline", metavar="FILE", help="Compare with FILE, or create it from this check.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("terminal", "json", "oneline", "html")),
    default=None,
    help="How to print the check.  [default: terminal; with --nagios: oneline]",
)
@click.option("--backend", type=click.Choice(("gloo", "nccl")), help="Backend of process groups.")
@click.option("--hosts", metavar="NAMES", help="All hosts of the job, to notice a missing one.")
@click.option("--port", type=int, metavar="N", help="Port of rank 0 (default: MASTER_PORT + 1).")
@click.option("--join", "join_s", type=float, metavar="S", help="Time to wait for all ranks (60).")
@click.option(
    "--ray", is_flag=False, flag_value="auto", metavar="[ADDRESS]",
    help="Check the nodes of the Ray cluster at this address (auto: this host's cluster).",
)  # fmt: skip
@click.option("--alone", is_flag=True, help="Check only this host, even under a launcher.")
@click.option("--exclude-file", metavar="FILE", help="Write the hosts to exclude to FILE.")
@click.option("--nagios", is_flag=True, help="Exit with 0 ok, 1 warning, 2 critical, 3 unknown.")
@with_target
def command(
    *,
    job: str | None,
    checkpoint: str | None,
    no_measure: bool,
    ranks: int | None,
    baseline: str | None,
    form: str | None,
    backend: str | None,
    hosts: str | None,
    port: int | None,
    join_s: float | None,
    alone: bool,
    exclude_file: str | None,
    nagios: bool,
    ray: str | None,
    to: Target,
) -> int:
    """Check a host before a job starts, and say what to repair.

    Checks memory, swap, cores, shared memory, limits, storage, network, RDMA, GPUs, clock, kernel
    log, versions and the environment. For each it gives a verdict, what it means for a job, and
    what to do. It changes nothing, needs no root, GPU or torch, and names what it could not read.
    With --for it compares the job's time limits and checkpoint size with this storage.

    Start it on every rank with the job's own launcher (torchrun, srun, mpirun) to check a cluster:

        torchrun ... -m unhang check

    With --ray it starts itself on all nodes of a Ray cluster.

    On a cluster it checks each host, then what must be equal on all hosts, then runs collectives on
    each host, on pairs of hosts and on the whole job, and verifies their results. It names bad
    hosts and links, and the hosts to exclude.
    """
    from unhang.checking import CODES, check, check_cluster, check_on_ray, find_seat
    from unhang.reporters.check import render_check

    seat = None if alone or ray is not None else find_seat(os.environ, port)
    asked: dict[str, Any] = {"job": job, "checkpoint": checkpoint, "measure": not no_measure}
    kept = baseline is not None and Path(baseline).exists()
    before = baseline if kept else None
    if ray is not None:
        asked |= {"backend": backend, "join_s": join_s, "hosts": hosts}
        report = check_on_ray(ray, asked, ranks=ranks, baseline=before)
    elif seat is None:
        report = check(**asked, baseline=before, ranks=1 if ranks is None else ranks)
    else:
        answer = check_cluster(
            seat, **asked, baseline=before, backend=backend, join_s=join_s, hosts=hosts
        )
        if isinstance(answer, int):
            return answer if nagios else 0
        report = answer
    if baseline is not None and not kept:
        Target(lang="en", output=baseline).write(partial(render_check, report, "json"))
    if exclude_file is not None:
        names = "".join(f"{host}\n" for host in report.excluded)
        write_file(exclude_file, names)
    form = form or ("oneline" if nagios else "terminal")
    to.write(partial(render_check, report, form))
    return CODES[report.status] if nagios else 0
