"""From `sar -n DEV` (sysstat) to what each network interface carried.

Reads::

    11:20:31        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s …  %ifutil
    11:20:36         eth0  96120.40  95873.20 1131870.11 1129402.85      0.00 …    92.72

Traps: how many columns stand before the interface depends on the clock (`11:20:31 AM`, `Average:`),
so columns are counted from there; `%ifutil` is 0 where the kernel does not know the speed.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import Event, LinkLoad
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_NAME, _SHARE = "IFACE", "%ifutil"
_RATES = ("rxkB/s", "txkB/s")
_KIB = 1024 / 1e9
_OWN = "lo"


class LinkLoadParser(LineParser, name="link-load", needles=(_NAME,), after=400):
    """Parser of `sar -n DEV`."""

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._before = 0

    def feed(self, line: Line) -> Iterator[Event]:
        """Say what the interface of this row carried."""
        words = line.raw.split()
        if _NAME in words:
            self._before = words.index(_NAME)
            columns = words[self._before :]
            self._columns = columns if {_SHARE, *_RATES} <= {*columns} else []
            return
        row = dict(zip(self._columns, words[self._before :], strict=False))
        name = row.get(_NAME, _OWN)
        if name == _OWN or len(words) != self._before + len(self._columns):
            return
        try:
            rate = max(float(row[column]) for column in _RATES)
            share = float(row[_SHARE]) / 100
        except ValueError:
            return
        if 0 < share <= 1:
            yield LinkLoad(**place(line), interface=name, gbps=rate * _KIB, share=share)
