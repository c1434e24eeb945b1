"""From a script to the files that it writes itself: its here-documents, with the file of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unhang import lazy_re as re

_OPEN = re.compile(r"(?<!<)<<(-?)[ \t]*([\"'\\]?)([A-Za-z_]\w*)")
_TO = re.compile(r"(?<![\d&])>{1,2}[ \t]*[\"']?([^\s\"';|&<>]+)")
_TEE = re.compile(r"\btee[ \t]+(?:-a[ \t]+)?[\"']?([^\s\"';|&<>]+)")
_QUOTED = re.compile(r"(?<![^\n;]):[ \t]+'[^'\n]*\n[^']*'")
"""`: '…'` over several lines."""
_KINDS = frozenset({".json", ".yaml", ".yml", ".toml", ".py", ".env", ".conf"})
_NAMES = frozenset({".env", ".deepspeed_env"})


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A configuration within a script.

    Attributes:
        name: the file that the script writes, as it spells it.
        start, end: the body within the script's text.
        line: number of its first line.
    """

    name: str
    start: int
    end: int
    line: int

    @property
    def suffix(self) -> str:
        """What kind of file it becomes."""
        return Path(self.name).suffix.lower()


def find_heredocs(text: str) -> list[Heredoc]:
    r"""The here-documents that become files of a kind that has a reader of its own.

    >>> [(h.name, h.line) for h in find_heredocs("cat > a.json <<'EOF'\n{}\nEOF\n")]
    [('a.json', 2)]
    """
    return [h for h in _all(text) if h.suffix in _KINDS or Path(h.name).name in _NAMES]


def without_heredocs(text: str) -> str:
    """The script itself, every line of it in its place, without what is only quoted in it."""
    text = without_quoted(text)
    for found in reversed(find_heredocs(text)):
        lines = text.count("\n", found.start, found.end)
        text = text[: found.start] + "\n" * lines + text[found.end :]
    return text


def without_quoted(text: str) -> str:
    r"""A script without the texts that `:` takes and nobody reads: a usage, a part left out.

    >>> without_quoted(": '\nrun --batch 4\n'\nrun --batch 8\n").split()
    [':', 'run', '--batch', '8']
    """
    return _QUOTED.sub(lambda m: re.sub(r"[^\n]", " ", m[0]).replace(" ", ":", 1), text)


def _all(text: str) -> Iterator[Heredoc]:
    at, number = 0, 1
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        at, number = end + 1, number + 1
        if line.lstrip().startswith("#"):
            continue
        for opened in _OPEN.finditer(line):
            mark = opened[3]
            indent = "\t*" if opened[1] else ""
            closing = re.compile(rf"^{indent}{mark}[ \t\r]*$", re.MULTILINE).search(text, at)
            if closing is None:
                return
            name = _TO.search(line) or _TEE.search(line)
            yield Heredoc("" if name is None else name[1], at, closing.start(), number)
            number += text.count("\n", at, closing.end()) + 1
            at = min(len(text), closing.end() + 1)
