"""`unhang run -- COMMAND…`: the same job, watched."""

from __future__ import annotations

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
    help="Whose time limits hold: the program's, the judge's (long, and real hangs are named"
    " instead), or this one for all process groups.",
)
@click.option(
    "--on-hang",
    default="report",
    show_default=True,
    metavar="report|abort|exec:CMD",
    help="What a confirmed hang brings, after the capture.",
)
@click.option(
    "--patience",
    default="auto",
    show_default=True,
    metavar="auto|SECONDS",
    help="How long ranks that show no sign of life are left alone where nothing proves a hang"
    " (auto: as long as waiting has cost less than the work since the last checkpoint).",
)
@click.option(
    "--notify",
    multiple=True,
    metavar="URL",
    help="Who is told of a hang, or a suspicion: a webhook, Slack, Feishu, DingTalk or WeCom.",
)
@click.option("--nodes", type=click.IntRange(1), help="How many nodes run this command.")
@click.option("--node-rank", type=click.IntRange(0), help="Index of this one, from 0.")
@click.option("--collector", metavar="URL", help="Where node 0 listens and the others report to.")
@click.option(
    "--shared", metavar="DIR", help="Folder that all nodes can write, instead of a collector."
)
@click.option("--no-color", is_flag=True, help="No colour (so does NO_COLOR=1).")
@language_option
def command(
    *,
    words: tuple[str, ...],
    out: str | None,
    timeouts: str,
    on_hang: str,
    patience: str,
    notify: tuple[str, ...],
    nodes: int | None,
    node_rank: int | None,
    collector: str | None,
    shared: str | None,
    no_color: bool,
    lang: str | None,
) -> int:
    """Run a launch command unchanged, and name a hang within seconds.

    Output, signals and exit code are as without unhang. When the job hangs, everything about it is
    captured, and the verdict printed on standard error.

        unhang run -- torchrun --nproc-per-node 8 train.py

    Ends with the exit code of COMMAND, or 86 when --on-hang abort ended a hang and nothing started
    the job again.
    """
    import os
    import shutil

    from unhang.live.session import run
    from unhang.reporters.style import Style

    return run(
        words,
        out=out,
        timeouts=timeouts,
        on_hang=on_hang,
        patience=patience,
        notify=notify,
        nodes=nodes,
        node_rank=node_rank,
        collector=collector,
        shared=shared,
        style=Style(
            language=lang or locale_language(),
            width=shutil.get_terminal_size((100, 24)).columns,
            color=not no_color and os.isatty(2) and not os.environ.get("NO_COLOR"),
        ),
    )
