"""From shell scripts, job scripts, Dockerfiles and files of variables to settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unhang import lazy_re as re
from unhang.linting.document import SettingKind, SettingsDocument
from unhang.linting.readers.words import (
    known_value,
    note_programs,
    note_reads,
    read_words,
    split_words,
)

_OPENERS = frozenset({"if", "for", "while", "until", "case", "select", "{"})
_CLOSERS = frozenset({"fi", "done", "esac", "}"})
_TALKERS = frozenset(
    {"echo", "printf", "grep", "sed", "awk", "unset", "test", "[", "[[", "LABEL", "MAINTAINER"}
)
"""They speak of settings, and set none."""

_SEPARATORS = frozenset({";", "|", "&", "then", "do", "else"})
_DIRECTIVE = re.compile(r"#(SBATCH|PBS|BSUB)\b")
_SETTERS = frozenset({"ENV", "setenv", "ARG"})
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}")


def read_shell(document: SettingsDocument, text: str, first_line: int = 1) -> None:
    """Note the settings of a text that a shell, Docker or a launcher reads."""
    read_lines(document, enumerate(text.splitlines(), start=first_line))


def read_lines(document: SettingsDocument, lines: Iterable[tuple[int, str]]) -> None:
    """Note the settings of numbered lines."""
    depth = 0
    for number, words, starts in _commands(document, lines):
        head = words[0]
        if starts and head in _CLOSERS:
            depth = max(0, depth - 1)
        for command in _simple_commands(words):
            if not (starts and _only_talks(command)):
                _read(document, number, command, certain=depth == 0 and head not in _OPENERS)
        if starts and (head in _OPENERS or words[-1] == "{"):
            depth += 1
        if starts and len(words) > 1 and words[-1] in _CLOSERS and head not in _CLOSERS:
            depth = max(0, depth - 1)


def _commands(
    document: SettingsDocument, lines: Iterable[tuple[int, str]]
) -> Iterator[tuple[int, list[str], bool]]:
    """Words of each line, and whether the line starts a command (or continues one)."""
    continued = False
    for number, line in lines:
        stripped = line.strip()
        comment = stripped.startswith("#")
        if comment and _DIRECTIVE.match(stripped) is None:
            continue
        words = split_words(stripped.removeprefix("#") if comment else stripped.rstrip("\\"))
        if comment and words:
            words[0] = f"#{words[0]}"
        if words:
            note_programs(document, stripped)
            yield number, words, not continued
        if not comment:
            note_reads(document, stripped)
        continued = stripped.endswith("\\")


def _simple_commands(words: list[str]) -> Iterator[list[str]]:
    """The commands of one line: `if x; then echo A=1; fi` holds three."""
    command: list[str] = []
    for word in words:
        if word in _SEPARATORS:
            if command:
                yield command
            command = []
        else:
            command.append(word)
    if command:
        yield command


def _only_talks(words: list[str]) -> bool:
    """`echo A=1` sets nothing; `echo A=1 >> file` does, for whoever reads the file."""
    return words[0] in _TALKERS and not any(">" in word for word in words)


def _read(document: SettingsDocument, number: int, words: list[str], *, certain: bool) -> None:
    if words[0] in _SETTERS and len(words) > 2 and _VARIABLE.fullmatch(words[1]) is not None:
        value = known_value(" ".join(words[2:]))
        document.add(words[1], value, number, SettingKind.VARIABLE, certain=certain)
    elif len(words) >= 3 and words[1] == "=" and _VARIABLE.fullmatch(words[0]) is not None:
        # nccl.conf and dotenv files allow blanks around the sign.
        document.add(words[0], known_value(words[2]), number, SettingKind.VARIABLE, certain=certain)
    else:
        read_words(document, words, number, certain=certain)
