"""From torch's warning about a barrier without a device to the GPU that it guesses.

Reads (torch 1.8 to 2.8)::

    [PG ID 0 PG GUID 0 Rank 1]  using GPU 0 to perform barrier as devices used by this process are
        currently unknown. This can potentially cause a hang if …

Traps: the rank in the prefix counts within the group; torch 2.9 and later ("Guessing device ID
based on global rank") name no GPU, so nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import DeviceGuessed, Event
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_GUESS = re.compile(
    r"(?:Rank\s*(?P<rank>\d{1,9})\]?\s*)?using\s*(?:best-guess\s*)?GPU\s*(?P<device>\d{1,4})\s*"
    r"(?:to\s*perform\s*barrier|as\s*device)"
)


class DeviceGuessParser(LineParser, name="device_guess", needles=("using GPU", "best-guess GPU")):
    """Parser of the barrier's device guess."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which GPU is guessed for which rank."""
        for match in _GUESS.finditer(line.text):
            rank = line.origin.rank
            if rank is None and match["rank"] is not None:
                rank = Rank(int(match["rank"]))
            yield DeviceGuessed(**place(line), device=int(match["device"]), group_rank=rank)
