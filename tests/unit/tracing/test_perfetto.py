"""The trace file, decoded by Perfetto's own schema."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from support.small_dumps import dumps
from unhang.model.activity import Activity, ActivityBasis
from unhang.model.ids import Rank
from unhang.model.trace import CallKey, Moment, Slice, SliceKind, Trace
from unhang.tracing import activity_of, make_trace
from unhang.tracing.perfetto import encode_trace

schema = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="needs perfetto: `make setup`"
)

T0 = 1_700_000_000.0


def sliced(rank: int, name: str, begin: float, end: float | None, **more: Any) -> Slice:
    return Slice(
        process=f"rank {rank}",
        rank=Rank(rank),
        track=more.pop("track", "default_pg"),
        name=name,
        kind=SliceKind.CALL,
        begin_s=T0 + begin,
        end_s=None if end is None else T0 + end,
        **more,
    )


def decoded(trace: Trace) -> Any:
    told = schema.Trace()
    told.ParseFromString(encode_trace(trace))
    return told


def tracks_of(told: Any) -> dict[int, str]:
    """`process / track` by uuid."""
    names: dict[int, tuple[str, int]] = {}
    for packet in told.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            name = track.process.process_name if track.HasField("process") else track.name
            names[track.uuid] = (name, track.parent_uuid)
    return {
        uuid: f"{names[parent][0]} / {name}" if parent else name
        for uuid, (name, parent) in names.items()
    }


def test_slices_nest_on_their_tracks_and_end() -> None:
    slices = (
        sliced(0, "a", 0, 4, call=CallKey("0", "1")),
        sliced(0, "b", 2, 6),  # overlaps: beside it
        sliced(0, "c", 4, 5),
        sliced(1, "a", 1, None, call=CallKey("0", "1"), details={"state": "scheduled"}),
    )
    trace = Trace(
        slices=slices, moments=(Moment(at_s=T0 + 3, name="hang_confirmed"),), end_s=T0 + 9
    )
    told = decoded(trace)
    tracks = tracks_of(told)
    open_slices: dict[int, list[str]] = defaultdict(list)
    seen: Counter[str] = Counter()
    last = 0
    for packet in told.packet:
        if not packet.HasField("track_event"):
            continue
        assert packet.trusted_packet_sequence_id == 1
        assert packet.timestamp >= last
        last = packet.timestamp
        event = packet.track_event
        if event.type == event.TYPE_SLICE_BEGIN:
            assert not open_slices[event.track_uuid]
            open_slices[event.track_uuid].append(event.name)
            seen[tracks[event.track_uuid]] += 1
        elif event.type == event.TYPE_SLICE_END:
            open_slices[event.track_uuid].pop()
        else:
            assert (event.name, tracks[event.track_uuid]) == ("hang_confirmed", "job / moments")
    assert not any(open_slices.values())
    assert seen == {"rank 0 / default_pg": 3, "rank 1 / default_pg": 1, "job / stalls": 1}
    assert told.packet[0].sequence_flags & 1
    assert last == round((T0 + 9) * 1e9)


def test_members_of_a_call_are_joined_by_a_flow() -> None:
    slices = (
        sliced(0, "a", 0, 4, call=CallKey("0", "1")),
        sliced(1, "a", 1, 4, call=CallKey("0", "1")),
        sliced(0, "b", 5, 6, call=CallKey("0", "2")),  # nobody else is known in it
        sliced(0, "a", 7, 8, call=CallKey("1", "1")),
        sliced(1, "a", 7, 8, call=CallKey("1", "1")),
    )
    told = decoded(Trace(slices=slices, end_s=T0 + 9))
    flows = [
        tuple(p.track_event.flow_ids)
        for p in told.packet
        if p.HasField("track_event") and p.track_event.type == p.track_event.TYPE_SLICE_BEGIN
    ]
    assert Counter(flows).most_common() == [
        (flows[0], 2),
        (flows[3], 2),
        ((), 1),
    ]


def test_dumps_become_tracks_by_rank_and_group_with_the_stall_marked(tmp_path: Path) -> None:
    trace = make_trace([str(dumps(tmp_path / "dumps", r3=6))])
    assert trace.basis is ActivityBasis.RECORDER
    told = decoded(trace)
    tracks = tracks_of(told)
    assert {f"rank {n} / default_pg" for n in range(4)} <= set(tracks.values())
    never = [
        (p.track_event.name, tracks[p.track_event.track_uuid])
        for p in told.packet
        if p.HasField("track_event") and "never completed" in p.track_event.name
    ]
    assert ("all_reduce #7 (never completed)", "rank 0 / default_pg") in never
    assert ("all_reduce #7 of default_pg never completed", "job / stalls") in never
    assert not [name for name, track in never if track.startswith("rank 3")]
    notes = {
        note.name: note.string_value
        for p in told.packet
        if p.HasField("track_event")
        for note in p.track_event.debug_annotations
    }
    assert notes["called by"] == "train.py:8 step"


def test_the_rank_that_stopped_early_is_not_shown_as_waiting(tmp_path: Path) -> None:
    found = activity_of(make_trace([str(dumps(tmp_path / "dumps", r3=6))]))
    assert found is not None
    last = {format(ranks): strip[-1][1] for ranks, strip in found.rows}
    assert last == {"RankSpans('0-2')": Activity.WAIT, "RankSpans('3')": Activity.WORK}


def test_times_without_a_date_count_from_the_first() -> None:
    told = decoded(Trace(slices=(sliced(0, "a", 2, 4),), end_s=T0 + 4, dated=False))
    stamps = [p.timestamp for p in told.packet if p.HasField("track_event")]
    assert stamps == [0, 2_000_000_000]


def test_trace_processor_answers_a_query(tmp_path: Path) -> None:
    """Perfetto's own program, where it is installed."""
    program = shutil.which("trace_processor_shell") or shutil.which("trace_processor")
    if program is None:
        pytest.skip("needs trace_processor_shell: https://get.perfetto.dev/trace_processor")
    processor = pytest.importorskip("perfetto.trace_processor")
    path = tmp_path / "trace.pftrace"
    path.write_bytes(encode_trace(make_trace([str(dumps(tmp_path / "dumps", r3=6))])))
    config = processor.TraceProcessorConfig(bin_path=program)
    with processor.TraceProcessor(trace=str(path), config=config) as loaded:
        asked = "select process.name as who from process join process_track using (upid)"
        assert {"rank 0", "rank 3"} <= {row.who for row in loaded.query(asked)}
        assert [row.n for row in loaded.query("select count(*) as n from flow")] != [0]
