"""From a trace to Perfetto's protobuf: `TracePacket`s with tracks, slices, flows and instants.

Only the few fields of `perfetto/trace/trace_packet.proto` that are written are known here:

    Trace            1 packet
    TracePacket      8 timestamp, 10 trusted_packet_sequence_id, 11 track_event,
                     13 sequence_flags, 60 track_descriptor
    TrackDescriptor  1 uuid, 2 name, 3 process, 5 parent_uuid
    ProcessDescriptor 1 pid, 6 process_name
    TrackEvent       4 debug_annotations, 9 type, 11 track_uuid, 22 categories, 23 name, 47 flow_ids
    DebugAnnotation  6 string_value, 10 name
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from unhang.model.trace import CallKey, Slice, Trace
from unhang.redaction import Redactor

_BEGIN, _END, _INSTANT = 1, 2, 3
_SEQUENCE = 1
_NEW_STATE = 1
"""SEQ_INCREMENTAL_STATE_CLEARED, of the first packet."""
JOB = "job"
"""The process that stalls and moments of the whole job are put under."""


def encode_trace(trace: Trace) -> bytes:
    """Return the file that ui.perfetto.dev and trace_processor read."""
    return b"".join(_field(1, packet) for packet in _Writer(trace).packets())


class _Writer:
    """Gives numbers to processes and tracks as they come."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._zero_s = min(
            (*(s.begin_s for s in trace.slices), *(m.at_s for m in trace.moments)), default=0.0
        )
        self._processes: dict[str, int] = {}
        self._tracks: dict[tuple[str, str, int], int] = {}
        self._fresh: list[bytes] = []

    def packets(self) -> Iterator[bytes]:
        """All packets, each in front of those that need it; events by time."""
        events: list[tuple[int, int, bytes]] = []
        shared = Counter(s.call for s in self._trace.slices if s.call is not None)
        flowing = {call for call, count in shared.items() if count > 1}
        for (process, name, lane), slices in _lanes(self._trace):
            track = self._track(process, name, lane)
            for one in slices:
                end_s = self._trace.end_s if one.end_s is None else one.end_s
                begin = self._ns(one.begin_s)
                end = max(begin, self._ns(end_s))
                flow = one.call if one.call in flowing else None
                events.append((begin, 1, _event(begin, track, _BEGIN, one, flow=flow)))
                events.append((end, 0 if end > begin else 2, _event(end, track, _END)))
        for stall in stalls(self._trace):
            track = self._track(JOB, "stalls", 0)
            begin, end = self._ns(stall.begin_s), self._ns(self._trace.end_s)
            events.append((begin, 1, _event(begin, track, _BEGIN, stall)))
            events.append((max(begin, end), 2, _event(max(begin, end), track, _END)))
        for moment in self._trace.moments:
            at = self._ns(moment.at_s)
            track = self._track(moment.process or JOB, "moments", 0)
            events.append((at, 1, _event(at, track, _INSTANT, name=moment.name)))
        events.sort(key=lambda event: event[:2])
        first = _number(13, _NEW_STATE) + _number(10, _SEQUENCE)
        yield first
        yield from self._fresh
        yield from (packet for _, _, packet in events)

    def _ns(self, at_s: float) -> int:
        """Absolute where times are dated, else from the first moment on."""
        return max(0, round((at_s if self._trace.dated else at_s - self._zero_s) * 1e9))

    def _process(self, name: str) -> int:
        if name not in self._processes:
            number = len(self._processes) + 1
            self._processes[name] = number
            told = _field(3, _number(1, number) + _text(6, name))
            self._describe(number, told)
        return self._processes[name]

    def _track(self, process: str, name: str, lane: int) -> int:
        key = (process, name, lane)
        if key not in self._tracks:
            parent = self._process(process)
            number = (1 << 32) + len(self._tracks)
            self._tracks[key] = number
            self._describe(number, _text(2, name) + _number(5, parent))
        return self._tracks[key]

    def _describe(self, number: int, told: bytes) -> None:
        descriptor = _field(60, _number(1, number) + told)
        self._fresh.append(descriptor + _number(10, _SEQUENCE))


def stalls(trace: Trace) -> Iterator[Slice]:
    """Calls that never ended, one slice each, from the first that waited."""
    open_calls: dict[CallKey, list[Slice]] = {}
    for one in trace.slices:
        if one.call is not None and one.end_s is None:
            open_calls.setdefault(one.call, []).append(one)
    for members in open_calls.values():
        first = min(members, key=lambda s: s.begin_s)
        ranks = ",".join(sorted(s.process.removeprefix("rank ") for s in members)[:64])
        yield Slice(
            process=JOB,
            track="stalls",
            name=f"{first.name} of {first.track} never completed",
            kind=first.kind,
            begin_s=first.begin_s,
            end_s=None,
            details={"ranks in it": ranks, "count": str(len(members))},
        )


def _lanes(trace: Trace) -> Iterator[tuple[tuple[str, str, int], Sequence[Slice]]]:
    """Slices that lie on one track; those that overlap go side by side."""
    tracks: dict[tuple[str, str], list[Slice]] = {}
    for one in trace.slices:
        tracks.setdefault((one.process, one.track), []).append(one)
    for (process, name), slices in sorted(tracks.items(), key=lambda item: _order(item[0])):
        ends: list[float] = []
        lanes: list[list[Slice]] = []
        for one in sorted(slices, key=lambda s: s.begin_s):
            lane = next((n for n, end in enumerate(ends) if end <= one.begin_s), len(ends))
            if lane == len(ends):
                ends.append(0.0)
                lanes.append([])
            ends[lane] = trace.end_s if one.end_s is None else one.end_s
            lanes[lane].append(one)
        for lane, told in enumerate(lanes):
            yield (process, name, lane), told


def _order(key: tuple[str, str]) -> tuple[int, str, str]:
    digits = key[0].removeprefix("rank ")
    return (int(digits) if digits.isdecimal() else 1 << 30, *key)


def _event(
    at: int,
    track: int,
    kind: int,
    told: Slice | None = None,
    *,
    flow: CallKey | None = None,
    name: str = "",
) -> bytes:
    body = _number(9, kind) + _number(11, track)
    if told is not None:
        never = "" if told.end_s is not None or told.process == JOB else " (never completed)"
        body += _text(22, told.kind.value) + _text(23, f"{told.name}{never}")
        body += b"".join(_annotations(told.details))
        if flow is not None:
            body += _varint(47 << 3 | 1) + _flow(flow)
    elif name:
        body += _text(22, "moment") + _text(23, name)
    return _number(8, at) + _number(10, _SEQUENCE) + _field(11, body)


def _annotations(details: Mapping[str, str]) -> Iterable[bytes]:
    for key, value in details.items():
        yield _field(4, _text(10, key) + _text(6, value))


@lru_cache(maxsize=1 << 14)
def _flow(call: CallKey) -> bytes:
    """Eight bytes that all members of a call share."""
    text = f"{call.group}\0{call.number}".encode("utf-8", "replace")
    return hashlib.blake2b(text, digest_size=8).digest()


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


@lru_cache(maxsize=1 << 14)
def _text(number: int, text: str) -> bytes:
    """A text without secrets; the names of calls and groups come again and again."""
    return _field(number, _redactor().text(text).encode("utf-8", "replace"))


@cache
def _redactor() -> Redactor:
    """What removes secrets from a trace, which people hand to others."""
    return Redactor([os.environ])


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
