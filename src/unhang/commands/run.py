"""`unhang run -- COMMAND…`: the same job, watched."""

from __future__ import annotations

from typing import Any

import click

from unhang.commands.output import language_option, locale_language


@click.command(
    name="run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND…", type=click.UNPROCESSED)
@click.option("--out", metavar="DIR", help="Run folder (default: a new one in unhang-runs/).")
@click.option(
    "--timeouts",
    default="keep",
    show_default=True,
    metavar="keep|judge|2h",
    help="Time limits of collectives: the program's, the judge's (long ones; unhang detects hangs"
    " instead), or this one for all process groups.",
)
@click.option(
    "--on-hang",
    default="report",
    show_default=True,
    metavar="report|abort|exec:CMD",
    help="What to do about a confirmed hang, after the capture.",
)
@click.option(
    "--patience",
    default="auto",
    show_default=True,
    metavar="auto|SECONDS",
    help="How long to leave silent ranks alone if nothing proves a hang (auto: until waiting costs"
    " more than the work since the last checkpoint).",
)
@click.option(
    "--notify",
    multiple=True,
    metavar="URL",
    help="Report suspected and confirmed hangs to a webhook, Slack, Feishu, DingTalk, WeCom"
    " or OpenTelemetry.",
)
@click.option("--nodes", type=click.IntRange(1), help="Number of nodes that run this command.")
@click.option("--node-rank", type=click.IntRange(0), help="Index of this node, from 0.")
@click.option("--collector", metavar="URL", help="Address of node 0, to which others report.")
@click.option(
    "--shared", metavar="DIR", help="Folder that all nodes can write to, instead of a collector."
)
@click.option("--no-color", is_flag=True, help="Turn off colour (also: NO_COLOR=1).")
@language_option
def command(
    *,
    words: tuple[str, ...],
    no_color: bool,
    lang: str | None,
    **options: Any,  # noqa: ANN401 - passed on to `unhang.live.session`, which knows their types
) -> int:
    """Run a launch command unchanged, and name a hang within seconds.

    Output, signals and exit code are the same as without unhang. If the job hangs, unhang captures
    the evidence and prints the verdict on standard error.

        unhang run -- torchrun --nproc-per-node 8 train.py

    Exits with the exit code of COMMAND, or with 86 if --on-hang abort ended a hung job and nothing
    restarted it.
    """
    import os
    import shutil

    from unhang.live.session import run
    from unhang.reporters.style import Style

    return run(
        words,
        **options,
        style=Style(
            language=lang or locale_language(),
            width=shutil.get_terminal_size((100, 24)).columns,
            color=not no_color and os.isatty(2) and not os.environ.get("NO_COLOR"),
        ),
    )
