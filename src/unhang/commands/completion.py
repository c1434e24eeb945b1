"""`unhang completion SHELL`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_UNHANG_COMPLETE"


_HELP = """Print the completion script of a shell.

\b
bash:  eval "$(unhang completion bash)"      in ~/.bashrc
zsh:   eval "$(unhang completion zsh)"       in ~/.zshrc
fish:  unhang completion fish > ~/.config/fish/completions/unhang.fish
"""


@click.command(name="completion", help=_HELP)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the completion script of a shell."""
    completion = get_completion_class(shell)
    assert completion is not None, "click completes all shells of the choice"
    root = click.get_current_context().find_root().command
    click.echo(completion(root, {}, "unhang", _VARIABLE).source())
