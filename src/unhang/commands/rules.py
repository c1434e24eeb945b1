"""`unhang rules`: everything that unhang can find."""

from __future__ import annotations

from functools import partial

import click

from unhang.commands.output import Target, with_form, with_target


@click.command(name="rules")
@with_form("terminal", "json", prints="the list")
@with_target
def command(*, form: str, to: Target) -> None:
    """List the rules and the causes that they can show."""
    from unhang.api import rules
    from unhang.reporters.explain import render_rules

    to.write(partial(render_rules, rules(), form))
