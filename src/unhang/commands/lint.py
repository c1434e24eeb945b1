"""`unhang lint [PATH…]`: settings that are dead, obsolete, dangerous or contradictory."""

from __future__ import annotations

import sys
from functools import partial

import click

from unhang.commands.output import Target, with_form, with_target
from unhang.errors import UsageError

_UNUSABLE = 2
"""A file could not be read, or does not parse; the others were judged all the same."""


@click.command(name="lint")
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--pid", type=int, metavar="PID", help="A running launcher or rank and its children.")
@click.option("--nccl", metavar="VERSION", help="Release of NCCL, such as 2.27.5.")
@click.option("--torch", metavar="VERSION", help="Release of PyTorch, such as 2.9.1.")
@click.option("--framework", metavar="NAME[==VERSION]", help="Framework, such as verl==0.7.1.")
@with_form("terminal", "json", "sarif", "github", prints="the findings")
@click.option("--fix", is_flag=True, help="Correct outdated names and misspelled values.")
@click.option("--diff", is_flag=True, help="Print what --fix would write, without writing it.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when there is an error or a warning.")
@with_target
def command(
    *,
    paths: tuple[str, ...],
    pid: int | None,
    nccl: str | None,
    torch: str | None,
    framework: str | None,
    form: str,
    fix: bool,
    diff: bool,
    exit_code: bool,
    to: Target,
) -> int:
    """Find settings that have no effect or do harm, and say what to use instead.

    PATH is a launch script, a job script, a Dockerfile, a configuration (YAML, JSON, nccl.conf,
    TOML, .env), a Python program, or a folder of them. Without PATH and --pid, unhang reads the
    environment. If a file does not parse, unhang names the line and exits with 2.

    --fix changes only spelling, never meaning: it renames outdated settings, and replaces values
    that NCCL or PyTorch does not understand with the ones that were meant. It then reports what
    remains.
    """
    from unhang.api import lint, repair
    from unhang.reporters.fix import render_files
    from unhang.reporters.lint import render_lint, render_repaired
    from unhang.reporters.style import Style

    if fix or diff:
        if not paths or pid is not None:
            raise UsageError("--fix and --diff change files: give scripts or configurations")
        changed = repair(*paths, nccl=nccl, torch=torch, framework=framework, write=not diff)
        if diff:
            exact = to.output is not None or not sys.stdout.isatty()
            to.write(partial(render_files, changed, exact=exact))
            return int(exit_code and bool(changed))
        style = Style(language=to.language, color=False)
        for file in changed:
            click.echo(render_repaired(file.path, style), err=True)
    report = lint(*paths, pid=pid, nccl=nccl, torch=torch, framework=framework)
    to.write(partial(render_lint, report, form))
    if report.problems:
        return _UNUSABLE
    return int(exit_code and report.failed)
