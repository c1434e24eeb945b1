"""From what torch's Python code logs in the name of a rank to the process of that rank.

Reads::

    [rank1]:W1121 08:19:32.828000 8122 torch/fx/_symbolic_trace.py:56] is_fx_tracing will …

Such a line has both the global rank and the number of the process, so that reports which name a
process alone (Ray's `(WorkerDict pid=8122)`) speak of a rank. It also shows that this rank's lines
are in the log.

Trap: the agent of torchrun logs in the same form, without a rank.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import Event, WorldSeen
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line


class TorchVoicesParser(
    LineParser,
    name="torch-voices",
    needles=(
        *("]:V0", "]:V1", "]:I0", "]:I1"),
        *("]:W0", "]:W1", "]:E0", "]:E1"),
    ),
    sampled=True,
):
    """Parser of the first line of each rank."""

    def __init__(self) -> None:
        self._heard: set[tuple[Rank, int]] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Say whose process speaks, once."""
        rank, pid = line.origin.rank, line.origin.pid
        if line.header is None or not line.header.file.endswith(".py"):
            return
        if rank is None or pid is None or (rank, pid) in self._heard:
            return
        self._heard.add((rank, pid))
        yield WorldSeen(**place(line), rank=rank)
