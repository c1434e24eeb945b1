"""From HCCL's report of a collective that timed out (Ascend NPUs) to the rank that gave up.

Reads (CANN 6.0 to 8.5; hiascend.com, "Communication Operation Timeout"; torch_npu 2.7.1,
docs/zh/troubleshooting/HCCL_timeout.md at gitcode.com/Ascend/pytorch; 2026-11)::

    EI0002: [PID: 7277] 2024-11-28-11:59:30.645.648 The wait execution of the Notify register times
        out. Reason: The Notify register has not received the Notify record from remote rank [4].
        base information: [streamID:[22], taskID[5], tag[AllReduce_90.90.92.240…], …] …
        (default 1800s, You can set the interval by using HCCL_EXEC_TIMEOUT.)

Traps: the remote rank is the neighbour in a ring or a mesh, which may wait itself; EI0006 (a
connection that was not established in time) tells of a peer that did not come, and is an echo too:
the speaker of either is a victim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from unhang.model.events import CollectiveTimeout, Event
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_TIMED_OUT = re.compile(
    r"(?:EI0002\b.{0,80}?)?The wait execution of the Notify register times out"
    r"(?:.{0,2000}?\btag\s?\[(?P<op>[A-Z][A-Za-z]{3,24}?)_)?"
    r"(?:.{0,2000}?\bdefault (?P<limit>\d{1,6})\s?s\b)?",
    re.DOTALL,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class HcclParser(LineParser):
    """Parser of HCCL's time-outs."""

    NAME: ClassVar[str] = "hccl"
    NEEDLES: ClassVar[tuple[str, ...]] = ("Notify register times",)

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which collective was given up."""
        match = line.says(_TIMED_OUT, within=True)
        if match is not None:
            words = _CAMEL.split(match["op"] or "")
            yield CollectiveTimeout(
                **place(line),
                group_rank=None,
                op="".join(words).upper() if match["op"] else "a collective of HCCL",
                timeout_ms=None if match["limit"] is None else int(match["limit"]) * 1_000,
            )
