"""Which of many patterns matches at a place: asked once, instead of each in turn."""

from __future__ import annotations

from collections.abc import Sequence

from unhang import lazy_re as re

_NAME = re.compile(r"\(\?P<\w+>")


class FirstOf:
    """Patterns in order of preference.

    Their groups must have names, which are free to repeat from one pattern to the next.
    """

    def __init__(self, patterns: Sequence[re.Pattern[str]]) -> None:
        self._patterns = tuple(patterns)
        bare = (_NAME.sub("(?:", pattern.pattern) for pattern in patterns)
        self._any = re.compile("|".join(f"({pattern})" for pattern in bare))
        assert self._any.groups == len(self._patterns)

    def match(self, text: str, position: int) -> tuple[int, re.Match[str]] | None:
        """The place in the list of the first pattern that matches at `position`, and its match."""
        found = self._any.match(text, position)
        if found is None or found.lastindex is None:
            return None
        index = found.lastindex - 1
        match = self._patterns[index].match(text, position)
        return None if match is None else (index, match)
