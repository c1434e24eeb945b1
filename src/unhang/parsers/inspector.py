"""From logs of NCCL Inspector to what each rank of each communicator was seen to finish.

Reads (profiler plugin of NCCL 2.28 and later, one JSON object on a line)::

    {"header":{"id":"0x7f8c496ae9f661","rank":2,"n_ranks":8,"nnodes":1},
     "metadata":{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"…",
                 "dump_timestamp_us":1748030377748202,"hostname":"node1","pid":1639453},
     "coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":17179869184,
                  "coll_exec_time_us":61974,"coll_timing_source":"kernel_gpu",
                  "coll_algobw_gbs":277.2,"coll_busbw_gbs":485.1}}

Traps: the plugin's thread wakes now and then and writes the *last* collective that has ended, so
numbers that are left out were not left out by the job; a collective that hangs is never written;
the time of a kernel includes its wait for the other ranks.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from statistics import median

from unhang.model.events import CollectivesMeasured, Event, Pace
from unhang.model.time import Clock, Instant
from unhang.parsers.base import EventFields, LineParser, place
from unhang.parsers.vocabulary.loose_json import Object, number_of, object_of, text_of
from unhang.sources.line import Line

_EDGE = 8
"""Records at either end that tell the bandwidth then."""
_MOST_TIMES = 2_000
_MOST_PACES = 64
_TIMED_BY_HOST = "collective_cpu"
"""The time of the call, not of the kernel."""


@dataclass(slots=True)
class _Pace:
    """Records of one operation and size."""

    times_us: list[float] = field(default_factory=list)
    early_gbps: list[float] = field(default_factory=list)
    late_gbps: deque[float] = field(default_factory=lambda: deque(maxlen=_EDGE))


@dataclass(slots=True)
class _Communicator:
    """What one process tells of one communicator."""

    where: EventFields
    rank: int
    size: int
    op: str = ""
    seq: int = 0
    exact: bool = True
    paces: dict[tuple[str, int], _Pace] = field(default_factory=dict)


class InspectorParser(LineParser, name="inspector", needles=('"coll_perf"',), sampled=True):
    """Parser of NCCL Inspector's logs."""

    def __init__(self) -> None:
        self._communicators: dict[tuple[str, int | None], _Communicator] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Take one record."""
        if line.gap:
            for communicator in self._communicators.values():
                communicator.exact = False
        try:
            record = json.loads(line.text)
        except (ValueError, RecursionError):
            return iter(())
        self._take(line, object_of(record))
        return iter(())

    def finish(self) -> Iterator[Event]:
        """Say what was seen of each communicator."""
        for (name, _), found in self._communicators.items():
            yield CollectivesMeasured(
                **found.where,
                comm=name,
                comm_rank=found.rank,
                size=found.size,
                last_op=found.op,
                last_seq=found.seq,
                exact=found.exact,
                paces=tuple(_pace(*key, pace) for key, pace in found.paces.items()),
            )

    def _take(self, line: Line, record: Object) -> None:
        head, told = object_of(record.get("header")), object_of(record.get("coll_perf"))
        rank, size = number_of(head.get("rank")), number_of(head.get("n_ranks"))
        seq, op = number_of(told.get("coll_sn")), text_of(told.get("coll"))
        if rank is None or size is None or seq is None or not op:
            return
        meta = object_of(record.get("metadata"))
        key = (text_of(head.get("id")).removeprefix("0x"), number_of(meta.get("pid")))
        where = _where(line, meta)
        found = self._communicators.setdefault(key, _Communicator(where, rank, size))
        found.where, found.op, found.seq, found.exact = where, op, seq, True
        _time(found, op, told)


def _where(line: Line, meta: Object) -> EventFields:
    """Who wrote a record, and when."""
    told = place(line)
    stamp = number_of(meta.get("dump_timestamp_us"))
    at = told["at"]
    if stamp is not None:
        at = Instant(seconds=stamp / 1e6, clock=Clock.UTC, resolution_s=0.001)
    host, pid = text_of(meta.get("hostname")), number_of(meta.get("pid"))
    origin = replace(told["origin"], host=host or told["origin"].host, pid=pid)
    return EventFields(source=told["source"], origin=origin, at=at)


def _time(found: _Communicator, op: str, told: Object) -> None:
    """Add a record's time and bandwidth, where it is a kernel's."""
    size, time_us = number_of(told.get("coll_msg_size_bytes")), told.get("coll_exec_time_us")
    rate = told.get("coll_busbw_gbs")
    if size is None or not isinstance(time_us, int | float) or not isinstance(rate, int | float):
        return
    known = (op, size) in found.paces
    if told.get("coll_timing_source") == _TIMED_BY_HOST:
        return
    if not known and len(found.paces) >= _MOST_PACES:
        return
    pace = found.paces.setdefault((op, size), _Pace())
    if len(pace.times_us) < _MOST_TIMES:
        pace.times_us.append(float(time_us))
    if len(pace.early_gbps) < _EDGE:
        pace.early_gbps.append(float(rate))
    pace.late_gbps.append(float(rate))


def _pace(op: str, size_bytes: int, pace: _Pace) -> Pace:
    return Pace(
        op=op,
        size_bytes=size_bytes,
        count=len(pace.times_us),
        typical_us=median(pace.times_us),
        early_gbps=median(pace.early_gbps),
        late_gbps=median(pace.late_gbps),
    )
