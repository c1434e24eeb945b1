"""From Ray's marks of lines that it left out to how many they were.

Reads `(Worker pid=830) step 7 [repeated 7x across cluster]`: seven further processes printed the
same. The mark itself is peeled into the line's origin; a rank without a message may have printed
one, so its absence proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import Event, LinesDropped
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line


class DroppedLinesParser(
    LineParser, name="dropped-lines", needles=("x across cluster]",), sampled=True
):
    """Parser of marks of lines that were left out."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say how many lines this one stands for."""
        if line.origin.repeated > 0:
            yield LinesDropped(**place(line), count=line.origin.repeated)
