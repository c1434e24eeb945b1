"""From TORCH_DISTRIBUTED_DEBUG=DETAIL and monitored barriers to who runs what, and who is missing.

Reads (torch 1.9 to 2.13)::

    Detected mismatch between collectives on ranks. Rank 2 is running collective:
        CollectiveFingerPrint(SequenceNumber=21, OpType=ALLREDUCE, TensorShape=[10],
        TensorDtypes=Float, TensorDeviceTypes=TensorOptions(…, device=cuda, …)), but Rank 0 is
        running collective: CollectiveFingerPrint(SequenceNumber=21, OpType=BROADCAST, …).Coll…
    … Rank 1 is running inconsistent collective: CollectiveFingerPrint(OpType=ALLGATHER, …
    [Rank 0]: Ranks 2, 3 failed to pass monitoredBarrier in 3000 ms
    Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv
        from rank 0. Please check rank 0 logs for faulty rank.

Traps: the wrapper compares with ONE other rank, so a majority over all lines tells the odd one;
`SequenceNumber=0OpType=GATHER` (no comma) is an empty fingerprint: that rank is elsewhere;
`BARRIER` prints no comma either; `Running collective: CollectiveFingerPrint(…)` is trace output;
"in 3000 ms" is the configured limit, not what passed.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import BarrierMissing, Event, Fingerprint, FingerprintMismatch
from unhang.model.forms import named
from unhang.model.ids import Rank, Ranks, SeqId
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/wrapper.toml")
_RUNS = _PATTERNS["runs"]
_DTYPE = re.compile(r"TensorDtypes\s*=\s*(\w{1,40})")
_DEVICE = re.compile(r"device\s*=\s*(\w{1,20})")
_BARRIER = _PATTERNS["barrier"]
_REPORTER = re.compile(r"\[Rank\s*(\d{1,9})\s*\]:?\s*$")


class WrapperParser(LineParser, name="wrapper"):
    """Parser of ProcessGroupWrapper's mismatches and of monitored barriers."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which ranks run different collectives, and who did not reach a barrier."""
        yield from _mismatches(line)
        for match in line.sayings(_BARRIER):
            yield _barrier(line, match)


def _mismatches(line: Line) -> Iterator[FingerprintMismatch]:
    """Pair each "Rank n is running" with the "but Rank m is running" that follows it."""
    found = [] if line.says(_RUNS, within=True) is None else list(_RUNS.finditer(line.text))
    while found:
        match = found.pop(0)
        other = None
        if found and re.search(r"but\s*$", line.text[match.end() : found[0].start()]):
            other = found.pop(0)
        yield FingerprintMismatch(
            **place(line),
            rank=Rank(int(match["rank"])),
            runs=_fingerprint(line.text, match),
            other_rank=None if other is None else Rank(int(other["rank"])),
            other_runs=None
            if other is None or other["op"] is None
            else _fingerprint(line.text, other),
        )


def _fingerprint(text: str, match: re.Match[str]) -> Fingerprint:
    seq = None if match["seq"] is None else SeqId(int(match["seq"]))
    empty = seq == 0 and match["comma"] is None
    dtype = _DTYPE.search(match["rest"])
    device = (
        None if match["shape"] is None else _DEVICE.search(text, match.end(), match.end() + 300)
    )
    return Fingerprint(
        op=None if empty else match["op"],
        seq=seq,
        shape=None if match["shape"] is None else _numbers(match["shape"]),
        dtype=None if dtype is None else dtype[1],
        device=None if device is None else device[1],
    )


def _barrier(line: Line, match: re.Match[str]) -> BarrierMissing:
    if match["waiter"] is not None:
        return BarrierMissing(
            **place(line),
            reporter=Rank(int(match["waiter"])),
            missing=_ranks(match["owner"]),
            direct=False,
        )
    reporter = _REPORTER.search(line.text, max(0, match.start() - 24), match.start())
    limit = match["limit"] or match["late_limit"]
    return BarrierMissing(
        **place(line),
        reporter=line.origin.rank if reporter is None else Rank(int(reporter[1])),
        missing=_ranks(match["missing"] or match["late"] or match["store_missing"]),
        direct=True,
        timeout_ms=None if limit is None else int(limit),
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,18}", text))


def _ranks(text: str) -> Ranks:
    return frozenset(Rank(int(rank)) for rank in re.findall(r"\d{1,9}", text))
