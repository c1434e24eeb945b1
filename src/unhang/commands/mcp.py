"""`unhang mcp`: the commands as tools for coding agents, over standard input and output."""

from __future__ import annotations

import click


@click.command(name="mcp")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR",
    help="A folder that may be read (default: the current one); repeatable.",
)  # fmt: skip
def command(*, roots: tuple[str, ...]) -> int:
    """Serve diagnose, watch, explain, lint and plan as tools for coding agents.

    The agent starts this program and talks to it over standard input and output (Model Context
    Protocol). Add the command to the agent's settings:

        {"command": "unhang", "args": ["mcp", "--root", "/data/runs"]}

    The server reads only files below the roots, redacts secrets and writes nothing. It needs
    `pip install 'unhang[mcp]'`.
    """
    from unhang.mcp_server import mcp

    mcp(*roots)
    return 0
