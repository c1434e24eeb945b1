"""`unhang mcp`: the commands as tools for coding agents, over standard input and output."""

from __future__ import annotations

import click


@click.command(name="mcp")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR",
    help="A folder that may be read (default: the current one); can be given again.",
)  # fmt: skip
def command(*, roots: tuple[str, ...]) -> int:
    """Serve diagnose, explain, lint and plan as tools for coding agents.

    An agent starts this program itself, and talks to it by the Model Context Protocol over
    standard input and output. Its settings name the command:

        {"command": "unhang", "args": ["mcp", "--root", "/data/runs"]}

    Only files below the roots are read; secrets are replaced; nothing is written. Needs
    `pip install 'unhang[mcp]'`.
    """
    from unhang.mcp_server import mcp

    mcp(*roots)
    return 0
