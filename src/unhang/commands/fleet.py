"""`unhang fleet ROOT…`: what fails among many jobs, and where it recurs."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unhang.commands.output import Target, with_form, with_target
from unhang.errors import UsageError

if TYPE_CHECKING:
    from unhang.model.fleet import Fleet
    from unhang.notify import NotifyTarget


@click.command(name="fleet")
@click.argument("roots", nargs=-1, required=True, metavar="ROOT…")
@click.option(
    "--store",
    default="unhang-fleet",
    show_default=True,
    metavar="DIR",
    help="Folder that keeps the results, so that only jobs that changed are read again.",
)
@click.option(
    "--depth",
    type=click.IntRange(0, 20),
    default=1,
    show_default=True,
    help="Levels from a ROOT to the folders of single jobs.",
)
@click.option(
    "--sacct",
    metavar="FILE",
    help="Hosts, hours and GPUs from `sacct -P -X -o JobID,NodeList,Start,Elapsed,AllocTRES`.",
)
@click.option("--processes", type=click.IntRange(1), help="Jobs judged at once (default: cores).")
@click.option(
    "--engine",
    default="local",
    show_default=True,
    metavar="ENGINE",
    help="Who reads: local, or the workers of a Ray cluster (ray, ray://HOST:PORT).",
)
@click.option("--exclude-file", metavar="FILE", help="Write the hosts where failures recur.")
@click.option(
    "--notify",
    multiple=True,
    metavar="URL",
    help="Report jobs that failed since the last survey, and the hosts to exclude, to a webhook,"
    " Slack, Feishu, DingTalk, WeCom or OpenTelemetry.",
)
@click.option("--parquet", metavar="FILE", help="Write a row for each job (extra `fleet`).")
@with_form("terminal", "json", "markdown", "html", prints="the summary")
@with_target
def command(
    *,
    roots: tuple[str, ...],
    store: str,
    depth: int,
    sacct: str | None,
    processes: int | None,
    engine: str,
    exclude_file: str | None,
    notify: tuple[str, ...],
    parquet: str | None,
    form: str,
    to: Target,
) -> int:
    """Summarize the failures of many jobs, and find the hosts where they recur.

    Judges all jobs below the folders, and reports causes, lost hours, weeks, and the hosts and
    settings where failures recur. Files belong to one job if they carry the same job number
    (slurm-123.out, train-123.err), or if their names differ only by rank, node or worker. Each run
    folder and each other folder below ROOT is a job as well. A host is named only if it fails more
    often than its share of the work explains (95 %, corrected for the number of hosts).

        unhang fleet /logs --exclude-file bad-nodes.txt

        srun --exclude=./bad-nodes.txt …
    """
    from unhang.api import fleet
    from unhang.commands.progress import ReadingProgress
    from unhang.notify import read_targets
    from unhang.reporters.fleet import render_fleet

    targets = read_targets(notify)  # now, and not after an hour of reading
    with ReadingProgress(words=lambda done, of: f"judging {done} of {of} jobs") as progress:
        found = fleet(
            *roots,
            store=store,
            depth=depth,
            processes=processes,
            engine=engine,
            sacct=sacct,
            progress=progress,
        )
    if exclude_file is not None:
        hosts = "".join(f"{host.name}\n" for host in found.hosts)
        try:
            Path(exclude_file).write_text(hosts, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {exclude_file}: {error.strerror}") from error
    if targets and found.new_failures:
        _tell(targets, found, roots, store, to.language)
    if parquet is not None:
        from unhang.surveying.parquet import write_parquet

        write_parquet(Path(store, "jobs.jsonl"), Path(parquet))
    to.write(partial(render_fleet, found, form))
    return 0


def _tell(
    targets: Sequence[NotifyTarget],
    found: Fleet,
    roots: tuple[str, ...],
    store: str,
    language: str,
) -> None:
    """Send what is new; what does not arrive is said on stderr, and the survey stands."""
    from unhang.model.provenance import Message
    from unhang.notify import Alert, send
    from unhang.reporters.catalogue import write
    from unhang.reporters.fleet import news_of

    news = news_of(found, language)
    alert = Alert(
        kind="jobs_failed",
        at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        run=", ".join(roots),
        host=socket.gethostname(),
        summary=news.summary,
        failures=news.failures,
        exclude=tuple(host.name for host in found.hosts),
        folder=str(Path(store).resolve()),
    )
    for delivery in send(targets, alert, language=language):
        if delivery.failure is not None:
            values = {"target": delivery.target, "why": delivery.failure}
            click.echo(write(Message(key="lost.not_told", values=values), language), err=True)
