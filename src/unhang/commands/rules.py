"""`unhang rules`: everything that unhang can find."""

from __future__ import annotations

from functools import partial

import click

from unhang.commands.output import with_style, write_result


@click.command(name="rules")
@click.option(
    "--format",
    "form",
    type=click.Choice(("terminal", "json")),
    default="terminal",
    show_default=True,
    help="How to print the list.",
)
@with_style
def command(*, form: str, lang: str | None, no_color: bool, output: str | None) -> None:
    """List the rules with the causes that they claim."""
    from unhang.api import rules
    from unhang.reporters.explain import render_rules

    write_result(partial(render_rules, rules(), form), lang=lang, no_color=no_color, output=output)
