"""From the definitions of the commands to the manual page `unhang(1)`, in roff."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc

import click

from unhang import __version__
from unhang.commands import COMMANDS, cli

_MADE = '.\\" Made by `make docs` from the commands; edit these, not this page.'
_NAME = "judge distributed training that hangs: the guilty rank, the cause, the fix"
_EXIT = {
    "0": "The command ran; with --exit-code, of unhang diagnose: no failure was found.",
    "1, 3, 4": "With --exit-code: a cause; who and where, but not why; undetermined. "
    "Other commands say in their help what else they exit with.",
    "2": "The request cannot be met; a sentence on standard error says why.",
    "70": "An error of unhang itself.",
    "86": "unhang run --on-hang abort ended a job that hung, and nothing started it again.",
    "130": "Interrupted.",
}
_ENVIRONMENT = {
    "UNHANG_LANG": "Language of reports: en or zh (default: by the locale).",
    "UNHANG_NOTIFY, UNHANG_NOTIFY_SECRET": "As --notify of unhang run, and what signs a message.",
    "UNHANG_TOKEN": "Signs the reports of the nodes of a run; token of the page of unhang serve.",
    "UNHANG_DEBUG": "1 shows the traceback of an error.",
    "NO_COLOR": "Turns off colour.",
}


def page() -> str:
    """The whole page; it says nothing that a command's own help does not."""
    context = click.Context(cli, info_name="unhang", obj="en")
    lines = [
        _MADE,
        f'.TH UNHANG 1 "" "unhang {__version__}"',
        *(".SH NAME", f"unhang \\- {_roff(_NAME)}"),
        *(".SH SYNOPSIS", ".B unhang", _roff("COMMAND [OPTIONS] …")),
        *(".SH DESCRIPTION", *_paragraphs(cli.help or "")),
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        lines += _command(context, name)
    for title, rows in (("EXIT STATUS", _EXIT), ("ENVIRONMENT", _ENVIRONMENT)):
        lines += [f".SH {title}", *(line for row in rows.items() for line in _row(*row))]
    return "\n".join(lines) + "\n"


def _command(parent: click.Context, name: str) -> Iterator[str]:
    command = cli.get_command(parent, name)
    assert command is not None
    command._help_option = None  # click keeps that of the context that asked first
    context = click.Context(
        command, info_name=name, parent=parent, help_option_names=["-h", "--help"]
    )
    yield f".SS unhang {_roff(' '.join([name, *command.collect_usage_pieces(context)]))}"
    yield from _paragraphs(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:
            yield from _row(*record)


def _row(term: str, text: str) -> tuple[str, str, str]:
    return ".TP", f".B {_roff(term)}", _roff(" ".join(text.split()))


def _paragraphs(text: str) -> Iterator[str]:
    """Prose is filled; what is indented, or marked as click marks it, keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", cleandoc(text)):
        kept = paragraph.startswith(("    ", "\b"))
        lines = [line for line in cleandoc(paragraph.lstrip("\b")).splitlines() if line]
        yield from (".PP", *((".RS 4", ".nf") if kept else ()))
        yield from map(_roff, lines)
        yield from ((".fi", ".RE") if kept else ())


def _roff(text: str) -> str:
    """Text that roff takes as it stands."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
