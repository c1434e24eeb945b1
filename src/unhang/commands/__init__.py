"""The command line: one file per sub-command; the only code that prints or exits."""

from __future__ import annotations

import importlib
from typing import NoReturn

import click

from unhang import __version__
from unhang.errors import UnhangError

COMMANDS: dict[str, str] = {"diagnose": "Name the guilty ranks and the root cause of a failed job."}
"""Every command with its one line of help; `commands/<name>.py` holds it."""


class _LazyGroup(click.Group):
    """Loads a sub-command's module only when it runs: `--help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"unhang.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="unhang")
def cli() -> None:
    """A judge for distributed training that hangs."""


def main() -> NoReturn:
    """Run, and turn every expected error into one sentence and exit code 2."""
    try:
        cli(prog_name="unhang", standalone_mode=True)
    except UnhangError as error:
        click.echo(f"unhang: {error}", err=True)
        raise SystemExit(2) from None
    raise SystemExit(0)
