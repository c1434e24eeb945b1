"""A report that tells only what is different is read as the whole one would be."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from unhang.live.messages.changes import ReportSender, changed
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
from unhang.live.messages.wire import node_from_json
from unhang.model.ids import Rank

GROUP = GroupBeat(name="0", desc="default_pg", ranks=(Rank(0), Rank(1)), enqueued=7, since_s=2.5)
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
    environment={"NCCL_ALGO": "Ring"},
)
DEAD = ProcessFacts(alive=False, signal=9, dumps=True)
REPORT = NodeReport(
    host="gn1",
    wall_s=1.5,
    mono_s=2.5,
    processes=(ProcessReport(beat=BEAT, facts=DEAD, beats=3, beat_age_s=4.0),),
    lost=(Loss.of("events_unwritten", why="No space left on device"),),
)
IDLE = Beat(host="gn1", pid=41, rank=BEAT.rank)


def of(beat: Beat, facts: ProcessFacts | None = None, beats: int = 4) -> NodeReport:
    process = REPORT.processes[0]
    facts = process.facts if facts is None else facts
    one = replace(process, beat=beat, facts=facts, beats=beats)
    other = replace(process, beat=replace(BEAT, pid=42))
    return replace(REPORT, wall_s=7.5, mono_s=8.5, processes=(one, other))


@pytest.mark.parametrize(
    "report",
    [
        of(BEAT),
        of(replace(BEAT, wall_s=9.0, stack=(FramePlace("train.py", 13, "main"),))),
        of(replace(BEAT, groups={"0": GROUP._replace(enqueued=0, since_s=None)})),
        of(replace(BEAT, groups={"0": GROUP, "1": GROUP._replace(name="1", ranks=None)})),
        of(replace(BEAT, groups={"1": GROUP._replace(name="1")})),
        of(replace(BEAT, governed_ms={}, meeting_ms=None, course=None, exception=None)),
        of(replace(BEAT, environment=None, steps=0, state="exiting")),
        of(IDLE, ProcessFacts(alive=True, state="D", young=((1.5, 3),), cpu_s=0.0), beats=0),
        replace(of(BEAT), lost=(), launcher_alive=False),
        replace(of(BEAT), lost=(Loss.of("events_unwritten", why="other"),)),
    ],
)
@pytest.mark.parametrize("first", [of(BEAT), of(IDLE)], ids=["busy", "idle"])
def test_changes_make_the_report(first: NodeReport, report: NodeReport) -> None:
    sender = ReportSender()
    before = node_from_json(json.loads(json.dumps(sender.tell(first))))
    sender.arrived()
    told = json.loads(json.dumps(sender.tell(report)))
    assert (before, told["on"], told["number"]) == (first, 1, 2)
    assert changed(first, told) == report


def test_the_members_of_a_group_are_told_once() -> None:
    sender = ReportSender()
    sender.tell(of(BEAT))
    sender.arrived()
    later = replace(BEAT, groups={"0": GROUP._replace(enqueued=8)}, wall_s=2.0)
    told = sender.tell(of(later))["processes"][0]["beat"]
    assert told == {"wall": 2.0, "groups": {"0": {"enqueued": 8}}}


def test_a_report_is_whole_after_one_that_was_lost_and_of_other_processes() -> None:
    sender = ReportSender()
    sender.tell(of(BEAT))
    assert "on" not in sender.tell(of(BEAT))
    sender.arrived()
    assert sender.tell(of(BEAT))["on"] == 2
    sender.arrived()
    assert "on" not in sender.tell(REPORT)


@pytest.mark.parametrize("processes", [None, [], [{}], "ab"])
def test_changes_of_another_report_are_refused(processes: object) -> None:
    with pytest.raises(ValueError, match="another report"):
        changed(of(BEAT), {"processes": processes})


def test_nonsense_in_changes_reads_as_unknown() -> None:
    wrong = {
        "beat": {"host": 1, "pid": "x", "steps": "many", "groups": {"0": {"enqueued": "x"}, "1": 1}}
    }
    found = changed(of(BEAT), {"wall": "x", "processes": [wrong, 3]})
    beat = found.processes[0].beat
    assert (beat.host, beat.pid, beat.steps, found.wall_s) == ("gn1", 41, None, 7.5)
    assert beat.groups == {"0": GROUP._replace(enqueued=None)}
    assert found.processes[1].beat == replace(BEAT, pid=42)


def test_groups_that_grow_from_report_to_report_have_an_end() -> None:
    many: dict[str, object] = {str(number): {} for number in range(10_001)}
    with pytest.raises(ValueError, match="groups"):
        changed(of(BEAT), {"processes": [{"beat": {"groups": many}}, {}]})
