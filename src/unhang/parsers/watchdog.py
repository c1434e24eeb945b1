"""From ProcessGroupNCCL watchdog lines to time-outs, group status and aborts.

Reads::

    [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808, OpType=ALLREDUCE,
        NumelIn=9801523, NumelOut=9801523, Timeout(ms)=600000) ran for 600020 milliseconds before …
    [PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence id: 808 …

Traps: `[Rank 3]` is the rank within the group; the same sentence is printed up to three times
(on its own, inside "terminated with exception", inside `what():`); `NumelIn` may be 2^64 - 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from unhang.model.events import CollectiveTimeout, Event
from unhang.model.ids import GroupRank, SeqId
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_TIMEOUT = re.compile(
    r"(?:\[Rank\s*(?P<rank>\d+)\]\s*)?"
    r"(?:Watchdog\s*caught|Caught)\s*collective\s*operation\s*timeout:\s*WorkNCCL\("
    r"(?:SeqNum=(?P<seq>\d+),\s*)?OpType=(?P<op>\w+)"
    r"(?:,\s*TensorShape=\[(?P<shape>[^\]]*)\])?"
    r"(?:,\s*NumelIn=(?P<numel_in>\d+),\s*NumelOut=(?P<numel_out>\d+))?"
    r",\s*Timeout\(ms\)=(?P<timeout>\d+)\)\s*ran\s*for\s*(?P<elapsed>\d+)\s*milliseconds"
)
_GARBAGE = 1 << 62


class WatchdogParser(LineParser):
    """Parser of watchdog lines."""

    NAME: ClassVar[str] = "watchdog"
    NEEDLES: ClassVar[tuple[str, ...]] = ("WorkNCCL(",)

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the time-outs that this line tells."""
        for match in _TIMEOUT.finditer(line.text):
            yield CollectiveTimeout(
                **place(line),
                group_rank=None if match["rank"] is None else GroupRank(int(match["rank"])),
                seq=None if match["seq"] is None else SeqId(int(match["seq"])),
                op=match["op"],
                numel_in=_count(match["numel_in"]),
                numel_out=_count(match["numel_out"]),
                timeout_ms=int(match["timeout"]),
                elapsed_ms=int(match["elapsed"]),
                cpp_line=None if line.header is None else line.header.line,
            )


def _count(text: str | None) -> int | None:
    """A number of elements; None for absent or garbage values."""
    if text is None or int(text) >= _GARBAGE:
        return None
    return int(text)
