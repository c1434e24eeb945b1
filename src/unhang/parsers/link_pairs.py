r"""From what people measured between their hosts, one pair after the other, to each link.

Reads the results of `iperf`, `ib_write_bw` and its kin, and nccl-tests below whatever names the
pair, or below the host that answers or is asked in a loop::

    nx201 -> nx202                          $ ./pair.sh dgx-r1 dgx-r2
     8388608    500      197.20   196.90     1073741824 … float sum -1 21954.0 48.91 91.70 0
    --- dl4                                 Connecting to host 10.3.0.4, port 5201
    [  5]   0.00-5.00   sec   559 MBytes   938 Mbits/sec                  receiver

The largest figure below a heading is the link's. Where nothing names a pair, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, LinkMeasured
from unhang.model.forms import named
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/link_pairs.toml")
_PAIR, _TO, _ONE, _NO_HOST = (_PATTERNS[name] for name in ("pair", "to", "one", "no_host"))
_IPERF, _PERFTEST, _NCCL_ROW = (_PATTERNS[name] for name in ("iperf", "perftest", "nccl_row"))
_GBPS_OF = {"M": 1e-3 / 8, "G": 1 / 8}
_PROMPT = re.compile(r"(?:\S{1,80}[$#%]|[$❯➜]) \S")


class LinkPairsParser(LineParser, name="link-pairs", after=120):
    """Parser of measurements between hosts."""

    def __init__(self) -> None:
        self._pair: tuple[str | None, str] | None = None
        self._gbits = True
        self._best: tuple[float, Line] | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Take a heading, or a figure below one."""
        pair = _PAIR.search(line.raw)
        if pair is not None and self._are_hosts(pair["one"], pair["other"]):
            yield from self._close()
            self._pair = pair["one"], pair["other"]
            return
        one = _ONE.fullmatch(line.raw)
        if one is not None and _NO_HOST.match(one["other"]) is None:
            yield from self._close()
            self._pair = None, one["other"]
            return
        to = _TO.search(line.raw)
        if to is not None and self._pair is None:
            self._pair = line.origin.host, to["other"]
        elif _PROMPT.match(line.raw) is not None:
            yield from self._close()
            return
        if "BW average" in line.raw:
            self._gbits = "Gb/sec" in line.raw
        rate = self._rate(line)
        if rate is not None and (self._best is None or rate > self._best[0]):
            self._best = rate, line

    def finish(self) -> Iterator[Event]:
        """Say the last one."""
        yield from self._close()

    def _are_hosts(self, one: str, other: str) -> bool:
        return one != other and not any(_NO_HOST.match(name) for name in (one, other))

    def _rate(self, line: Line) -> float | None:
        """GB/s of a result."""
        iperf = _IPERF.search(line.raw)
        if iperf is not None:
            return float(iperf["rate"]) * _GBPS_OF[iperf["unit"]]
        row = _PERFTEST.fullmatch(line.raw)
        if row is not None:
            return float(row["rate"]) * (1 / 8 if self._gbits else 1 / 1024)
        row = _NCCL_ROW.match(line.raw)
        return None if row is None else float(row["rate"])

    def _close(self) -> Iterator[Event]:
        pair, best = self._pair, self._best
        self._pair = self._best = None
        if pair is not None and best is not None:
            yield LinkMeasured(**place(best[1]), one=pair[0], other=pair[1], gbps=best[0])
