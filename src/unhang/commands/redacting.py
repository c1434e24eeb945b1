"""Options of commands whose output may leave the machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from unhang.redaction import Redactor

C = TypeVar("C", bound=Callable[..., Any])


def with_patterns(command: C) -> C:
    """Add `--redact-hosts`, `--redact-pattern` and `--redact-rules` to a command."""
    for option in (
        click.option(
            "--redact-rules",
            metavar="FILE",
            help="TOML with [[shape]] tables for your own secrets.",
        ),
        click.option(
            "--redact-pattern",
            "redact_patterns",
            multiple=True,
            metavar="REGEX",
            help="Also redact what matches (or its group `value`); repeatable.",
        ),
        click.option(
            "--redact-hosts",
            is_flag=True,
            help="Also replace hosts, users, accounts, buckets, addresses and paths.",
        ),
    ):
        command = option(command)
    return command


def redactor_for(*, hosts: bool, patterns: Sequence[str], rules: str | None) -> Redactor:
    """What removes secrets from a report; those of this process's environment go wherever they are.

    Raises:
        UsageError: a pattern of the user's is none.
    """
    from unhang.redaction import Pseudonyms, Redactor, own_shapes

    names = Pseudonyms.keyed() if hosts else None
    return Redactor([os.environ], names, own_shapes(patterns, rules))
