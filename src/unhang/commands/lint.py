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
@click.option("--pid", type=int, metavar="PID", help="A running launcher or rank, with all below.")
@click.option("--nccl", metavar="VERSION", help="Release of NCCL, such as 2.27.5.")
@click.option("--torch", metavar="VERSION", help="Release of PyTorch, such as 2.9.1.")
@click.option("--framework", metavar="NAME[==VERSION]", help="Framework, such as verl==0.7.1.")
@with_form("terminal", "json", "sarif", "github", prints="the findings")
@click.option("--fix", is_flag=True, help="Write what is mechanical: new names, words meant.")
@click.option("--diff", is_flag=True, help="Print what --fix would write, and write nothing.")
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
    """Find settings that do nothing, or harm, and say what to use instead.

    PATH is a launch script, a job script, a Dockerfile, a configuration (YAML, JSON, nccl.conf,
    TOML, .env), a Python program, or a folder of them. Without PATH and --pid it is the
    environment. A file that does not parse is named with its line, and the exit code is 2.

    --fix changes names and words, never what they mean: an old name becomes the new one, a word
    that NCCL or PyTorch does not understand the one that was meant. What remains is then reported.
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
