r"""From CUDA's `p2pBandwidthLatencyTest` to how much the direct way between two GPUs carries.

Reads::

    Device=0 CAN Access Peer Device=1
    Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
       D\D     0      1
         0 831.56  11.22
         1  11.25 832.01
    Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
       D\D     0      1
         0 833.10   0.88
         1   0.87 832.64

Traps: of a pair that cannot access each other both matrices show the way by the host; the diagonal
is a GPU's own memory; a matrix that was cut off tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, PeerPathMeasured
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_MAY = re.compile(r"\bDevice=(\d{1,3}) CAN Access Peer Device=(\d{1,3})\b")
_MATRIX = re.compile(r"Unidirectional P2P=(?P<way>Enabled|Disabled) Bandwidth\b.{0,40}\(GB/s\)")
_ROW = re.compile(r"\s*(\d{1,3})((?:\s+\d{1,6}\.\d{1,4})+)\s*$")

_Pair = tuple[int, int]


class PeerTestParser(
    LineParser, name="peer-test", needles=("CAN Access Peer", "Unidirectional P2P="), after=80
):
    """Parser of `p2pBandwidthLatencyTest`."""

    def __init__(self) -> None:
        self._may: set[_Pair] = set()
        self._way = ""
        self._measured: dict[str, dict[_Pair, float]] = {}
        self._line: Line | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Take a row of a matrix, or what is said of a pair."""
        may, matrix = _MAY.search(line.raw), _MATRIX.search(line.raw)
        if may is not None:
            self._may.add((int(may[1]), int(may[2])))
        elif matrix is not None:
            self._way = matrix["way"]
            self._measured[self._way] = {}
            if self._way == "Enabled":
                self._line = line
        elif "Matrix" in line.raw:
            self._way = ""
        elif self._way and (row := _ROW.match(line.raw)) is not None:
            one = int(row[1])
            for other, rate in enumerate(row[2].split()):
                self._measured[self._way][one, other] = float(rate)
        return iter(())

    def finish(self) -> Iterator[Event]:
        """Say the pair whose direct way carries the smallest part of the other way."""
        direct, staged = (self._measured.get(way, {}) for way in ("Enabled", "Disabled"))
        pairs = [p for p in self._may if direct.get(p) and staged.get(p)]
        if self._line is None or not pairs:
            return
        worst = min(sorted(pairs), key=lambda pair: direct[pair] / staged[pair])
        yield PeerPathMeasured(
            **place(self._line),
            one=worst[0],
            other=worst[1],
            direct_gbps=direct[worst],
            staged_gbps=staged[worst],
        )
