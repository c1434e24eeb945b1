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

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import CollectiveTimeout, Event
from unhang.model.provenance import Origin
from unhang.parsers.base import LineParser, place
from unhang.sources import stamps
from unhang.sources.line import Line

_TIMED_OUT = re.compile(
    r"(?:EI0002\b.{0,80}?)?The wait execution of the Notify register times out"
    r"(?:.{0,2000}?\btag\s?\[(?P<op>[A-Z][A-Za-z]{3,24}?)_)?",
    re.DOTALL,
)
_CLOCK = re.compile(stamps.ISO)
_LIMIT = re.compile(r"\bdefault (?P<limit>\d{1,6})\s?s\b")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class HcclParser(LineParser, name="hccl", needles=("Notify register times",), after=6):
    """Parser of HCCL's time-outs; their limit stands in a line of possible causes below."""

    def __init__(self) -> None:
        self._open: dict[Origin, CollectiveTimeout] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which collective was given up, as soon as its limit is known or cannot come."""
        match = line.says(_TIMED_OUT, within=True)
        if match is not None:
            yield from self._close(line.origin)
            self._open[line.origin] = _timeout(line, match)
        limit = _LIMIT.search(line.text) if line.origin in self._open else None
        if limit is not None:
            told = self._open.pop(line.origin)
            yield replace(told, timeout_ms=int(limit["limit"]) * 1_000)

    def finish(self) -> Iterator[Event]:
        """Say those whose limit is not told."""
        yield from self._open.values()
        self._open.clear()

    def _close(self, origin: Origin) -> Iterator[Event]:
        told = self._open.pop(origin, None)
        if told is not None:
            yield told


def _timeout(line: Line, match: re.Match[str]) -> CollectiveTimeout:
    words = _CAMEL.split(match["op"] or "")
    fields = place(line)
    clock = _CLOCK.search(line.text, match.start(), match.start() + 80)
    if clock is not None:
        fields["at"] = stamps.instant(clock)
    return CollectiveTimeout(
        **fields,
        group_rank=None,
        op="".join(words).upper() if match["op"] else "a collective of HCCL",
        timeout_ms=None,
    )
