"""From what the probe says of the loops that a main thread stands in.

Reads::

    in the loop of lines 20-31 of train, file /home/me/train.py              (below its stacks)

A traceback or a stack tells one line of a function, and not whether it lies in a loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, LoopStood
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_NEEDLE = "in the loop of lines "
_LOOP = re.compile(
    rf"^{_NEEDLE}(?P<first>\d{{1,7}})-(?P<last>\d{{1,7}}) of (?P<function>\S{{1,200}}), file"
    r" (?P<file>\S.{0,399})$"
)


class LoopsStoodParser(LineParser, name="loops-stood", needles=(_NEEDLE,)):
    """Parser of the loops that a main thread stood in."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say a loop."""
        found = _LOOP.match(line.text.rstrip())
        if found is not None:
            yield LoopStood(
                **place(line),
                file=found["file"],
                function=found["function"],
                first=int(found["first"]),
                last=int(found["last"]),
            )
