"""The words of a job's logs as a whole, understood or not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from unhang.model.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word, in lower case.

    Attributes:
        lines: lines of different forms that hold it, in all logs together.
        source: the first of them.
    """

    lines: int
    source: Provenance

    def with_more(self, lines: int) -> Word:
        """The same with lines of another log."""
        return replace(self, lines=self.lines + lines)
