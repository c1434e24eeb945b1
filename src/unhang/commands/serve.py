"""`unhang serve RUN`: a web page of a live or finished run, with metrics for Prometheus."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import click

from unhang.commands.output import language_option, locale_language


@click.command(name="serve")
@click.argument("run", metavar="RUN")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8765, show_default=True, help="Port; 0 takes any that is free.")
@click.option(
    "--token",
    metavar="TEXT",
    help="Token that the page requires (default: a random one). Prefer UNHANG_TOKEN:"
    " command lines are public on a host.",
)
@click.option(
    "--no-token",
    is_flag=True,
    help="Let every user of this machine read the page; not with --host.",
)
@click.option(
    "--otlp",
    metavar="URL",
    help="Also send what happens to this collector of OpenTelemetry, as log records"
    " (http://collector:4318).",
)
@language_option
def command(
    *,
    run: str,
    host: str,
    port: int,
    token: str | None,
    no_token: bool,
    otlp: str | None,
    lang: str | None,
) -> int:
    """Show a run as a web page, with metrics for Prometheus.

    RUN is the folder that `unhang run` wrote; the job may be running or finished. The server
    listens on this machine only, unless --host says otherwise. Open the address that it prints: the
    token in it keeps out other users of the machine. Secrets in texts are redacted. /metrics is for
    Prometheus, /api for programs. Ctrl-C stops the server; the job keeps running.
    """
    from unhang.screens import serve

    given = None if no_token else os.environ.get("UNHANG_TOKEN")
    server = serve(
        run,
        host=host,
        port=port,
        token=token or given,
        open_to_all=no_token,
        language=lang or locale_language(),
    )
    try:
        with nullcontext() if otlp is None else _sending(run, otlp):
            click.echo(server.url)
            server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        click.echo("", err=True)
    finally:
        server.closing.set()
        server.server_close()
    return 0


def _sending(run: str, otlp: str) -> AbstractContextManager[object]:
    from unhang.screens.telemetry import sending

    return sending(Path(run), otlp)
