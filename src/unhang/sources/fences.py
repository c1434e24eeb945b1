"""Finds what stands between a line that begins a shown text and one that ends it, in any form.

The two are alike, and the second says that it ends: the same marks, the same name in brackets, or
the same words::

    [tool_result id=4]                      --8<-- postmortem.md
    srun: error: gpu07: task 3: Killed      srun: error: gpu07: task 3: Killed
    [/tool_result]                          --8<-- end

Nothing counts without its end, nor where the log itself speaks in between; a report of trouble is
framed as well, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from unhang.model.forms import named

_PATTERNS = named("unhang.sources", "data/showing.toml")
_FENCES = _PATTERNS["fences"]
_TELLS = _PATTERNS["tells"]
_LONGEST = 200
_MOST_OPEN = 3
_MOST_LINES = 60


@dataclass(slots=True)
class _Fence:
    """What was opened and has not been closed: its sign, its line, and those seen since then."""

    sign: str
    since: int
    lines: list[int] = field(default_factory=list)


class Fences:
    """Follows the fenced texts of one artifact, line by line."""

    def __init__(self) -> None:
        self._open: list[_Fence] = []
        self.shown: set[int] = set()
        """Numbers of the lines of all texts that were closed."""

    @property
    def is_open(self) -> bool:
        """Whether one has begun whose end has not come."""
        return len(self._open) > 0

    def see(self, text: str, number: int, *, own: bool) -> None:
        """Take a line, in order.

        Args:
            text: without its wrappers.
            number: of the line.
            own: the log itself speaks.
        """
        if own:
            self._open.clear()
            return
        fence = fence_of(text)
        if fence is not None and fence[1]:
            self._close(fence[0])
            return
        self._open = [one for one in self._open if number - one.since <= _MOST_LINES]
        for one in self._open:
            one.lines.append(number)
        if fence is not None:
            self._open = [*self._open[1 - _MOST_OPEN :], _Fence(fence[0], number)]

    def _close(self, sign: str) -> None:
        for index, fence in enumerate(self._open):
            if fence.sign == sign:
                self.shown.update(fence.lines)
                del self._open[index:]
                return


def fence_of(text: str) -> tuple[str, bool] | None:
    """What a line that begins or ends a shown text has in common with the other, and which it is.

    >>> fence_of("[sample id=4]"), fence_of("[/sample]"), fence_of("--- error report ---")
    (('sample', False), ('sample', True), None)
    """
    bare = text.strip()
    if not 3 < len(bare) < _LONGEST or not (
        bare[-1] in "]}" if bare[0] in "[{" else _may_be_fence(bare)
    ):
        return None
    found = _FENCES.match(bare)
    if found is None or _TELLS.search(bare) is not None:
        return None
    sign = found["mark"] or found["name"] or found["what"].lower()
    return sign, (found["end1"] or found["end2"] or found["end3"]) is not None


def _may_be_fence(bare: str) -> bool:
    """Whether a line begins with two marks, or with a word for a beginning or an end; cheap."""
    if bare[0].isalnum():
        return bare[:5].lower().startswith(("begin", "start", "end", "stop"))
    return not bare[1].isalnum()
