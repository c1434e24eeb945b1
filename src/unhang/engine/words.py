"""From a log to its words: in how many different lines each stands, and the first of them.

Parsers pick the lines that they understand. What a log is about also shows in all the others, in
words that go with one cause more than with another: `verdict.chances` knows how much more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from unhang import lazy_re as re
from unhang.engine.nature import ends
from unhang.model.provenance import TEXT_LIMIT, Provenance
from unhang.model.words import Word
from unhang.sources.artifact import Artifact
from unhang.sources.clean import clean

_MOST = 1 << 20
"""Bytes that are looked at, of all logs together."""
_FILES = 64
"""Logs that are looked at, of which the beginning and the end: ranks tell the same."""

_PATH = re.compile(
    r"(?:/[\w.\-]+)+/(?:(?P<file>[\w\-]+\.(?:py|so|cpp|cc|cu|h)\b)|[\w.\-]*)|(?:/[\w.\-]+){2,}"
)
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
"""Of letters alone; `OutOfMemoryError` and `out_of_memory` hold the same words."""
_SHORTEST, _LONGEST = 3, 14
_LINE = 600
"""Characters of a line that are looked at."""

Words = dict[str, Word]


def most_of_each(logs: Sequence[Artifact]) -> list[tuple[Artifact, int]]:
    """The logs that are looked at, and how many bytes of each at most."""
    taken = logs[:: max(1, -(-len(logs) // _FILES))]
    return [(log, _MOST // len(taken)) for log in taken]


def words_of(artifact: Artifact, most: int) -> Words:
    """The words of one log; none of one that cannot be read."""
    try:
        with artifact.open() as stream:
            data, whole = ends(stream, most, most // 2)
    except Exception:  # a damaged one is told of where it is read for good
        return {}
    return words_of_text(data.decode("utf-8", "replace"), artifact.name, whole=whole)


def words_of_text(text: str, name: str, *, whole: bool = True) -> Words:
    r"""The same of a text, without paths and numbers; lines that differ in those count once.

    >>> found = words_of_text("step 1\nstep 2\n/opt/a/run.py: OutOfMemoryError\n", "log")
    >>> {word: w.lines for word, w in found.items()}
    {'step': 1, 'run': 1, 'out': 1, 'memory': 1, 'error': 1}
    """
    lines: Counter[str] = Counter()
    first: dict[str, tuple[int, str]] = {}
    seen: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        plain = _NUMBER.sub("0", _PATH.sub(r" \g<file> ", line[:_LINE]))
        if plain in seen:
            continue
        seen.add(plain)
        words = dict.fromkeys(word.lower() for word in _WORD.findall(plain))
        lines.update(list(words))
        for word in words:
            first.setdefault(word, (number, line))
    return {
        word: Word(lines=lines[word], source=_place(name, number if whole else None, line))
        for word, (number, line) in first.items()
        if _SHORTEST <= len(word) <= _LONGEST
    }


def _place(name: str, number: int | None, line: str) -> Provenance:
    return Provenance(artifact=name, line=number, text=clean(line)[:TEXT_LIMIT])
