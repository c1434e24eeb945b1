"""`unhang diagnose PATH…`: one verdict from whatever is left of a failed job."""

from __future__ import annotations

import click

from unhang.api import diagnose
from unhang.model.diagnosis import Outcome
from unhang.reporters import REPORTERS


@click.command(name="diagnose")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--format", "form", type=click.Choice(sorted(REPORTERS)), default="json")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when a cause was found.")
def command(paths: tuple[str, ...], form: str, exit_code: bool) -> None:
    """Name the guilty ranks and the root cause of a failed job."""
    diagnosis = diagnose(*paths)
    click.echo(REPORTERS[form](diagnosis))
    if exit_code and diagnosis.outcome is Outcome.CAUSE:
        raise SystemExit(1)
