"""What commands share: options of every command, and writing the result."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from unhang.errors import UsageError

C = TypeVar("C", bound=Callable[..., Any])

LANGUAGES = ("en", "zh")
"""What `--lang` takes; the catalogue has the same list."""


language_option = click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    help="Language (default: UNHANG_LANG, then the locale).",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the text goes, and in which language.

    Attributes:
        lang: language asked for, or None for that of the locale.
        no_color: whether colour is unwanted.
        output: a file to write to, or None for standard output.
    """

    lang: str | None = None
    no_color: bool = False
    output: str | None = None

    @property
    def language(self) -> str:
        """The language to write."""
        return self.lang or locale_language()

    def write(self, render: Callable[..., str]) -> None:
        """Render for where the text goes, and write it.

        Args:
            render: takes a `Style`, gives the text.

        Raises:
            UsageError: the file cannot be written.
        """
        from unhang.reporters.style import Style

        screen = self.output is None
        style = Style(
            language=self.language,
            width=_width() if screen else 100,
            color=screen and not self.no_color and _wants_color(),
        )
        text = render(style) + "\n"
        if self.output is None:
            write_text(text)
        else:
            write_file(self.output, text)


def with_target(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--lang`, `--no-color` and `--output` to a command, which takes them as `to`."""
    output = click.option(
        "-o", "--output", metavar="FILE", help="Write the result to FILE instead of stdout."
    )
    return _targeted(command, output)


def with_language(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--lang` and `--no-color` to a command, which takes them as `to`."""
    return _targeted(command)


def _targeted(
    command: Callable[..., Any], *more: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[..., Any]:
    @functools.wraps(command)
    def call(**options: Any) -> object:  # noqa: ANN401  options of any command
        given = {name: options.pop(name) for name in names}
        return command(**options, to=Target(**given))

    no_color = click.option("--no-color", is_flag=True, help="Turn off colour (also: NO_COLOR=1).")
    names = ("lang", "no_color", "output") if more else ("lang", "no_color")
    decorated = call
    for option in (*more, no_color, language_option):
        decorated = option(decorated)
    return decorated


def with_form(*forms: str, prints: str) -> Callable[[C], C]:
    """Add `--format` to a command, which takes it as `form`; the first is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help=f"How to print {prints}.",
    )


def write_file(path: str, text: str) -> None:
    """Write a file of the user's.

    Raises:
        UsageError: it cannot be written.
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str, data: bytes) -> None:
    """Write a file of the user's that is no text.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}; name a file in a folder that exists"
        ) from error


def locale_language() -> str:
    """The language of ours that `UNHANG_LANG`, or else the locale, asks for first.

    `LANGUAGE` is a list, and counts as gettext counts it: not in the locales C and POSIX.
    """
    variables = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((os.environ[v] for v in variables if os.environ.get(v)), "")
    wishes = [os.environ.get("UNHANG_LANG", "")]
    if locale not in {"C", "POSIX"}:
        wishes += os.environ.get("LANGUAGE", "").split(":")
    named = (wish.lower()[:2] for wish in [*wishes, locale])
    return next((language for language in named if language in LANGUAGES), "en")


def _wants_color() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((100, 24)).columns


def write_text(text: str) -> None:
    """Write to standard output; a reader that has seen enough (`| head`) is no error."""
    stream = sys.stdout
    try:
        stream.write(_encodable(text, stream.encoding or "utf-8"))
        stream.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its end: that goes nowhere, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _encodable(text: str, encoding: str) -> str:
    """Replace what a stream of an old locale cannot show."""
    return text.encode(encoding, errors="replace").decode(encoding)
