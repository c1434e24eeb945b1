"""Reports cross borders unchanged, and nonsense reads as unknown."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import (
    Beat,
    Course,
    FramePlace,
    GroupBeat,
    NodeReport,
    ProcessFacts,
    ProcessReport,
    Raised,
)
from unhang.live.messages.wire import beat_from_json, node_from_json, node_to_json
from unhang.model.ids import Rank

GROUP = GroupBeat(
    name="0", desc="default_pg", ranks=(Rank(0), Rank(1)), enqueued=7, completed=0, since_s=2.5
)
BEAT = Beat(
    host="gn1",
    pid=41,
    rank=Rank(0),
    groups={"0": GROUP},
    stack=(FramePlace("train.py", 12, "main"),),
    exception=Raised(type="ValueError", message="bad batch"),
    governed_ms={"0": 1000},
    meeting_ms=600_000,
    course=Course(fits=False, move="isend(dst=1) in f (t.py):4", due="irecv(src=1) in f (t.py):3"),
    issued=41,
    lost=(Loss.of("probe_recorder_absent", why="2.0.1"),),
    environment={"NCCL_ALGO": "Ring", "torch": "2.0.1"},
)
REPORT = NodeReport(
    host="gn1",
    wall_s=1.5,
    mono_s=2.5,
    processes=(
        ProcessReport(
            beat=BEAT, facts=ProcessFacts(alive=False, signal=9, dumps=True), beats=3, beat_age_s=4
        ),
    ),
    lost=(Loss.of("events_unwritten", why="No space left on device"),),
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


def test_a_report_survives_the_way_over_the_wire() -> None:
    assert node_from_json(json.loads(json.dumps(node_to_json(REPORT)))) == REPORT


@pytest.mark.parametrize(
    "frame",
    [
        FramePlace("C:\\train.py", 3, "main"),
        FramePlace("a;b.py", 3, "main"),
        FramePlace("a.py", 3, "Model::step"),
        FramePlace("a.py", -1, ""),
    ],
)
def test_stacks_survive_whatever_their_names_hold(frame: FramePlace) -> None:
    stack = (frame, FramePlace("train.py", 12, "<module>"))
    process = replace(REPORT.processes[0], beat=replace(BEAT, stack=stack, threads=(stack,)))
    report = replace(REPORT, processes=(process,))
    assert node_from_json(json.loads(json.dumps(node_to_json(report)))) == report


def test_a_beat_without_a_process_is_refused() -> None:
    assert beat_from_json({"host": "gn1"}) is None
    assert beat_from_json({"host": "gn1", "pid": True}) is None


@given(st.fixed_dictionaries({"host": st.just("a"), "processes": JSON}), st.data())
def test_nonsense_never_raises(data: dict[str, object], extra: st.DataObject) -> None:
    field = extra.draw(st.sampled_from(["groups", "stack", "exception", "timeouts", "argv"]))
    beat = {"host": "a", "pid": 1, field: extra.draw(JSON)}
    assert node_from_json(data) is not None
    assert beat_from_json(beat) is not None
