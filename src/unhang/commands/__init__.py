"""The command line: one file per sub-command; the only code that prints or exits.

Exit codes: 0 ran; 1, 3 or 4 with `--exit-code`, by the outcome; 2 unusable request; 70 an error of
unhang itself; 130 interrupted. Errors are one sentence on standard error, never a traceback:
`UNHANG_DEBUG=1` shows it to who looks for the error.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from unhang import __version__
from unhang.commands.output import locale_language
from unhang.commands.translation import asked_language, in_language
from unhang.errors import UnhangError, UsageError

COMMANDS: dict[str, str] = {
    "diagnose": "Name the guilty ranks and the root cause of a failed job.",
    "explain": "Say what a rule, a cause, a setting or an error line means.",
    "lint": "Find settings that have no effect or do harm, and say what to use instead.",
    "fix": "Apply the fix from a verdict to the files of a job.",
    "plan": "Compute memory, checkpoints and time limits before the job starts.",
    "check": "Check a host before a job starts, and say what to repair.",
    "timeline": "Write a Perfetto trace or a heatmap of what each rank did.",
    "bench": "Measure collectives, and compare settings in alternating runs.",
    "compare": "Say whether runs fail less often after a change than before it.",
    "fleet": "Summarize the failures of many jobs, and find the hosts where they recur.",
    "watch": "Show a run in the terminal: who waits for whom, and since when.",
    "serve": "Show a run as a web page, with metrics for Prometheus.",
    "capture": "Gather evidence of a live or hung job on this node into one redacted file.",
    "run": "Run a launch command unchanged, and name a hang within seconds.",
    "drill": "Run a real job that fails in a known way, and score the verdict.",
    "mcp": "Serve diagnose, watch, explain, lint and plan as tools for coding agents.",
    "rules": "List the rules and the causes that they can show.",
    "completion": "Print the completion script of a shell.",
}
"""Every command with its one line of help; `commands/<name>.py` holds it."""

_INTERRUPTED, _OWN_ERROR, _UNUSABLE = 130, 70, 2


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
        return in_language(command, _language(ctx), cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say what was meant."""
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            raise click.UsageError(_no_command(word), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([*summaries(_language(ctx)).items()])


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="unhang")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """A judge for distributed training that hangs.

    Give it what is left of a failed multi-GPU job; it names the guilty ranks, the root cause and
    the fix:

        unhang diagnose LOGS
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def summaries(language: str) -> dict[str, str]:
    """Every command with its one line of help in `language`."""
    if language == "en":
        return COMMANDS
    from unhang.reporters.catalogue.by_text import help_texts

    return {**COMMANDS, **help_texts(language)["short"]}


_OF_THE_PATH = {errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR}
"""What the system says of a path that was asked for, wherever it is first looked at."""


def main() -> NoReturn:
    """Run with the arguments of the process, and exit."""
    raise SystemExit(invoke(sys.argv[1:]))


def invoke(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; every error becomes one sentence."""
    language = asked_language(arguments)
    spoken = in_language(cli, language, "unhang")
    try:
        code = spoken.main([*arguments], prog_name="unhang", standalone_mode=False, obj=language)
    except (click.ClickException, UnhangError) as error:
        return _refuse(error, language)
    except (click.Abort, KeyboardInterrupt):
        _say(_translated("interrupted", language))
        return _INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OF_THE_PATH and error.filename:
            told = UsageError(f"cannot read {str(error.filename)[:200]}: {error.strerror}")
            return _refuse(told, language)
        return _apologise(error)
    return code if isinstance(code, int) else 0


def _refuse(error: click.ClickException | UnhangError, language: str) -> int:
    """What was found, what was expected, what to do."""
    _show_traceback()
    texts = [str(error)]
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        path = "unhang" if context is None else context.command_path
        texts = [_ended(error.format_message()), f"`{path} --help` shows what it takes."]
    _say(" ".join(_translated(text, language) for text in texts))
    return _UNUSABLE


def _translated(text: str, language: str) -> str:
    if language == "en":
        return text
    from unhang.reporters.catalogue.by_text import translated

    return translated(text, language)


def _language(ctx: click.Context) -> str:
    """That of the call; completion has none."""
    return ctx.find_root().obj or locale_language()


def _no_command(word: str) -> str:
    """A path in the place of a command was meant for `diagnose`."""
    if Path(word).exists():
        return f"'{word}' is not a command; did you mean `unhang diagnose {word}`?"
    import difflib

    close = difflib.get_close_matches(word, COMMANDS, n=1)
    meant = f"; did you mean `{close[0]}`?" if close else ""
    return f"'{word}' is not a command{meant}"


def _ended(text: str) -> str:
    return text if text.endswith(("?", ".", "!")) else f"{text}."


def _apologise(error: Exception) -> int:
    """An error of ours, whatever was asked."""
    _show_traceback()
    _say(
        f"internal error ({type(error).__name__}: {error}). The request is not at fault: please"
        " report what the same command prints with UNHANG_DEBUG=1."
    )
    return _OWN_ERROR


def _say(text: str) -> None:
    """Print harmless lines, most often one, to standard error, if there still is one."""
    from unhang.reporters.printable import one_line

    first, *patch = f"unhang: {text}".split("\n    ")  # the lines of a patch stay as they are
    indented = (f"{line[: len(line) - len(line.lstrip())]}{one_line(line)}" for line in patch)
    click.echo("\n    ".join((one_line(first), *indented)), err=True)


def _show_traceback() -> None:
    if os.environ.get("UNHANG_DEBUG"):
        import traceback

        traceback.print_exc()
