"""From a shell script to its commands, with the place of every word.

Quotes, continuations, comments, here-documents and substitutions are understood as far as they
decide where a word ends; nothing is expanded, and nothing is run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from unhang import lazy_re as re
from unhang.fixing.refusal import Refusal
from unhang.linting.readers.heredocs import without_quoted

_BLANK = re.compile(r"(?:[ \t\r]|\\(?:\r?\n|\Z))+")
_OPERATOR = re.compile(r"\n|;;|&&|\|\||[;&|()]")
_REDIRECT = re.compile(r"\d*(?:&>>?|<<<|<<-?|>>|[<>]&?-?|>\|)")
_HEREDOC = re.compile(r"\d*<<-?")
_CLOSING = {"(": ")", "{": "}"}
_RESERVED = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}"})


@dataclass(frozen=True, slots=True)
class ShellWord:
    """One word, as written."""

    start: int
    end: int
    text: str

    @property
    def bare(self) -> str:
        """Without quotes around the whole."""
        quoted = len(self.text) > 1 and self.text[0] == self.text[-1] and self.text[0] in "\"'"
        return self.text[1:-1] if quoted else self.text


@dataclass(slots=True)
class Command:
    """A simple command: its words in order, without redirections and reserved words."""

    words: list[ShellWord] = field(default_factory=list)

    @property
    def start(self) -> int:
        """Where its first word begins."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """Where its last word ends."""
        return self.words[-1].end


def read_commands(text: str) -> list[Command]:
    """All simple commands of a script, and the words of its arrays, in order.

    >>> [[w.text for w in c.words] for c in read_commands("A=1 x --y 'b c' > log # no")]
    [['A=1', 'x', '--y', "'b c'"]]

    Raises:
        Refusal: a quote is never closed.
    """
    # `: '…'` over several lines holds what nobody runs; every character keeps its place.
    return list(_Reader(without_quoted(text)).commands())


class _Reader:
    """One pass over the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._heredocs: list[str] = []

    def commands(self) -> Iterator[Command]:
        command = Command()
        while self._skip_blanks():
            operator = _OPERATOR.match(self._text, self._at)
            redirect = _REDIRECT.match(self._text, self._at)
            if redirect is not None:
                self._redirect(redirect)
            elif operator is not None:
                self._at = operator.end()
                if operator.group() == "\n":
                    self._skip_heredocs()
                if command.words:
                    yield command
                command = Command()
            else:
                word = self._word()
                if command.words or word.text not in _RESERVED:
                    command.words.append(word)
        if command.words:
            yield command

    def _skip_blanks(self) -> bool:
        """Skip blanks, continuations and comments; return whether anything is left."""
        blank = _BLANK.match(self._text, self._at)
        if blank is not None:
            self._at = blank.end()
        if self._text.startswith("#", self._at):
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
        return self._at < len(self._text)

    def _redirect(self, match: re.Match[str]) -> None:
        """Skip a redirection with its file; remember the end of a here-document."""
        self._at = match.end()
        if match.group().endswith(("&", "-")) and not _HEREDOC.fullmatch(match.group()):
            digits = re.compile(r"\d*").match(self._text, self._at)
            self._at = self._at if digits is None else digits.end()
            if match.group().endswith("-"):
                return
            if digits is not None and digits.group():
                return
        blank = _BLANK.match(self._text, self._at)
        self._at = self._at if blank is None else blank.end()
        if self._at < len(self._text) and not _OPERATOR.match(self._text, self._at):
            word = self._word()
            if _HEREDOC.fullmatch(match.group()):
                self._heredocs.append(word.text.strip("\"'\\"))

    def _skip_heredocs(self) -> None:
        for mark in self._heredocs:
            end = re.compile(rf"^[ \t]*{re.escape(mark)}[ \t\r]*$", re.MULTILINE)
            found = end.search(self._text, self._at)
            self._at = len(self._text) if found is None else found.end()
        self._heredocs.clear()

    def _word(self) -> ShellWord:
        start = self._at
        while self._at < len(self._text):
            char = self._text[self._at]
            if char.isspace() or char in ";&|()<>":
                break
            if char == "\\":
                if _BLANK.match(self._text, self._at):
                    break
                self._at += 2
            else:
                self._at = _past(self._text, self._at)
        self._at = max(min(self._at, len(self._text)), start + 1)
        return ShellWord(start, self._at, self._text[start : self._at])


def _past(text: str, at: int) -> int:
    """The index behind a character, a quotation or a substitution."""
    match text[at]:
        case "'":
            return _find(text, "'", at + 1) + 1
        case "`":
            return _find(text, "`", at + 1) + 1
        case '"':
            return _past_quotes(text, at)
        case "$" if text[at + 1 : at + 2] in ("(", "{"):
            return _past_brackets(text, at + 1)
        case _:
            return at + 1


def _past_quotes(text: str, at: int) -> int:
    index = at + 1
    while index < len(text):
        if text[index] == '"':
            return index + 1
        if text[index] == "\\":
            index += 2
        elif text[index] == "$":
            index = _past(text, index)
        else:
            index += 1
    raise _unclosed(text, at)


def _past_brackets(text: str, at: int) -> int:
    opening = text[at]
    closing, depth, index = _CLOSING[opening], 0, at
    while index < len(text):
        if text[index] == opening:
            depth, index = depth + 1, index + 1
        elif text[index] == closing:
            depth, index = depth - 1, index + 1
            if depth == 0:
                return index
        elif text[index] == "\\":
            index += 2
        elif text[index] in "'\"`":
            index = _past(text, index)
        else:
            index += 1
    raise _unclosed(text, at)


def _find(text: str, what: str, at: int) -> int:
    found = text.find(what, at)
    if found < 0:
        raise _unclosed(text, at - 1)
    return found


def _unclosed(text: str, at: int) -> Refusal:
    line = text.count("\n", 0, at) + 1
    return Refusal(f"line {line}: `{text[at]}` is never closed")
