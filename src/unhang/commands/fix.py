"""`unhang fix CONFIG… --from VERDICT`: a verdict's fix as a difference of the user's own files."""

from __future__ import annotations

import sys
from functools import partial

import click

from unhang.commands.output import Target, with_form, with_target


@click.command(name="fix")
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG…")
@click.option(
    "--from",
    "verdict",
    required=True,
    metavar="VERDICT",
    help="What `unhang diagnose --format json` printed; - is standard input.",
)
@click.option(
    "--fix",
    "fixes",
    type=int,
    multiple=True,
    metavar="N",
    help="Write fix N of the verdict; may be given again. Default: the best that fits.",
)
@click.option("--apply", is_flag=True, help="Write the files, and keep a copy beside each (.bak).")
@with_form("diff", "json", prints="the change")
@with_target
def command(
    *,
    configs: tuple[str, ...],
    verdict: str,
    fixes: tuple[int, ...],
    apply: bool,
    form: str,
    to: Target,
) -> None:
    """Apply the fix from a verdict to the files of a job.

    CONFIG is a framework's YAML, JSON or TOML, a shell or job script, a Dockerfile, a Kubernetes
    manifest or a file of variables. If you give several files, each setting is written to the file
    that the job reads it from, including configurations inside a script; settings that must agree
    change together. Comments, order and layout are kept. Without --apply unhang only prints the
    diff, which `patch -p0` accepts. It refuses changes that are not safe, and says why.
    """
    from unhang.api import fix
    from unhang.reporters.fix import render_fix, render_notes
    from unhang.reporters.style import Style

    rewrite = fix(configs, verdict, fixes=fixes, apply=apply)
    exact = to.output is not None or not sys.stdout.isatty()
    if form == "json" or rewrite.changed:
        to.write(partial(render_fix, rewrite, form, exact=exact))
    if form != "json":
        style = Style(language=to.language, width=100, color=False)
        click.echo(render_notes(rewrite, style), err=True)
