"""`unhang explain WORD`: the manual page of a rule, a cause, a setting or an error line."""

from __future__ import annotations

import sys
from functools import partial

import click

from unhang.commands.output import Target, with_form, with_target

_MOST = 1 << 20
"""Bytes that are read of standard input: more is a log, and for `diagnose`."""


@click.command(name="explain", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, metavar="WORD…", type=click.UNPROCESSED)
@with_form("terminal", "json", "markdown", prints="the page")
@click.option("--model", metavar="MODEL", help="The model (a name, a config.json or weights).")
@with_target
def command(
    *,
    words: tuple[str, ...],
    form: str,
    model: str | None,
    to: Target,
) -> None:
    """Say what a rule, a cause, a setting or an error line means.

    WORD is a rule (CRA001 or its name), a cause (gpu_oom), a setting (NCCL_TIMEOUT), or lines of a
    log, quoted or not; - reads standard input. If a line gives the NumelIn and NumelOut of a
    collective, unhang says which tensors of a known model, or of --model, have that size. It does
    not use the network.
    """
    from unhang.api import explain
    from unhang.reporters.explain import render_explanation

    text = " ".join(words)
    if words == ("-",):
        text = sys.stdin.buffer.read(_MOST).decode("utf-8", errors="replace")
    to.write(partial(render_explanation, explain(text, model=model), form))
