"""Help of the command line in the language of the user.

English stands beside the code, in the decorators of click. A translation is the table
`[COMMAND]` of the catalogue's help: `about` for the command, and the name of each option; options
of several commands are in `[any]`. The words of click itself (`Options`, `required`) are among the
translated errors.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

import click

from unhang import lazy_re as re
from unhang.commands.output import LANGUAGES, locale_language

_EXTRAS = re.compile(r"  \[([^\[\]]*)\]$")
_FIRST_COLUMN, _BETWEEN = 30, 2


def asked_language(arguments: Sequence[str]) -> str:
    """The language of `--lang` among the arguments of unhang, else that of the locale."""
    own = [*arguments, "--"]
    own = own[: own.index("--")]
    for place, word in enumerate(own):
        wish = "".join(own[place + 1 : place + 2]) if word == "--lang" else word[len("--lang=") :]
        if word.startswith("--lang") and wish in LANGUAGES:
            return wish
    return locale_language()


def in_language(command: click.Command, language: str, path: str) -> click.Command:
    """Return the command with its help in `language`; `path` is its name, such as `drill run`."""
    if language == "en":
        return command
    from unhang.reporters.catalogue.by_text import help_texts

    texts = {**help_texts(language)["any"], **help_texts(language).get(path, {})}

    class Context(click.Context):
        def make_formatter(self) -> click.HelpFormatter:
            return _Formatter(language, self.terminal_width, self.max_content_width)

    spoken = copy.copy(command)
    spoken.context_class = Context
    spoken.help = texts.get("about", command.help)
    spoken.params = [_param(param, texts.get(param.name or "")) for param in command.params]
    if isinstance(spoken, click.Group):
        spoken.commands = {
            name: in_language(child, language, f"{path} {name}")
            for name, child in spoken.commands.items()
        }
    return spoken


def _param(param: click.Parameter, text: str | None) -> click.Parameter:
    if text is None or not isinstance(param, click.Option):
        return param
    spoken = copy.copy(param)
    spoken.help = text
    return spoken


class _Formatter(click.HelpFormatter):
    """Sets Chinese, whose letters are wide and have no spaces between them."""

    def __init__(self, language: str, width: int | None, max_width: int | None) -> None:
        super().__init__(width=width, max_width=max_width)
        self._language = language

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, prefix or f"{self._word('Usage:')} ")

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{self._word(heading)}：\n")

    def write_text(self, text: str) -> None:
        super().write_text(self._filled(text, self.width - self.current_indent - 2))

    def write_dl(
        self,
        rows: Iterable[tuple[str, str]],
        col_max: int = _FIRST_COLUMN,
        col_spacing: int = _BETWEEN,
    ) -> None:
        listed = list(rows)
        first = min(max((len(term) for term, _ in listed), default=0), col_max) + col_spacing
        width = max(self.width - first - 4, 20)
        spoken = [(term, self._filled(self._extras(text), width)) for term, text in listed]
        super().write_dl(spoken, col_max, col_spacing)

    def _extras(self, text: str) -> str:
        """The default value and the like, which click puts in brackets after the text."""
        told = self._word(text)
        return _EXTRAS.sub(lambda found: f"  [{self._word(found[1])}]", told)

    def _word(self, text: str) -> str:
        from unhang.reporters.catalogue.by_text import translated

        return translated(text, self._language)

    @staticmethod
    def _filled(text: str, width: int) -> str:
        """The text in lines, each paragraph marked so that click leaves it as it is."""
        from unhang.reporters.printable import fill

        paragraphs = []
        for paragraph in re.split(r"\n[ \t]*\n", text.strip("\n")):
            marked, lines = paragraph.split("\n"), paragraph.split("\n")
            if marked[0].strip() == "\b":
                lines = marked[1:]
            elif not paragraph.startswith(" "):
                lines = fill("".join(line.strip() for line in lines), width)
            paragraphs.append("\n".join(("\b", *lines)))
        return "\n\n".join(paragraphs)
