"""The live judge's last view."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import pytest

from support.feeding import feed, only
from unhang.live.messages.job_snapshot import (
    SCHEMA,
    GroupView,
    JobSnapshot,
    Stage,
    Suspicion,
    SuspicionReason,
)
from unhang.model.codec import document
from unhang.model.events import Finished, HoldUp, Restarted, SettingSeen, WaitsSeen, WorldSeen
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.time import Clock
from unhang.model.waits import CallRef, Snapshot, Wait
from unhang.parsers.run_record import RunRecordParser

E = TypeVar("E")

SUSPICION = Suspicion(
    culprits=frozenset({Rank(2)}),
    victims=frozenset({Rank(0), Rank(1), Rank(3)}),
    charge=SuspicionReason.ASLEEP,
    stage=Stage.CONFIRMED,
    phase=Phase.SAVE,
    call=CallRef(group="0", seq=21, op="all_reduce"),
    since_s=8.5,
    still_s=9.0,
    place="save (train.py:40)",
    why=Message(key="live.asleep", values={"ranks": frozenset({Rank(2)})}),
)


def lines_of(*suspicions: Suspicion) -> list[str]:
    view = JobSnapshot(at_s=1_763_712_000.5, up_s=60.0, world_size=4, suspicions=suspicions)
    return document(SCHEMA, view).splitlines()


def test_what_the_judge_writes_is_read() -> None:
    event = only(HoldUp, feed(RunRecordParser, *lines_of(SUSPICION)))
    assert (event.charge, event.stage, event.phase) == (
        SuspicionReason.ASLEEP,
        Stage.CONFIRMED,
        Phase.SAVE,
    )
    assert (event.culprits, event.victims) == (SUSPICION.culprits, SUSPICION.victims)
    assert (event.group, event.seq, event.op) == ("0", 21, "all_reduce")
    assert (event.waited_s, event.still_s, event.place) == (8.5, 9.0, "save (train.py:40)")
    assert event.at is not None
    assert (event.at.seconds, event.at.clock) == (1_763_711_992.0, Clock.UTC)


def test_a_start_after_the_first_and_a_good_end_are_read() -> None:
    view = JobSnapshot(at_s=90.5, up_s=60.0, world_size=2, restart=2, began_s=40.25)
    (start,) = events_of(view, Restarted)
    assert start.of_all_files
    assert start.at is not None
    assert (start.at.seconds, start.at.clock) == (40.25, Clock.UTC)
    assert events_of(view, Finished) == []
    (end,) = events_of(replace(view, restart=0, ended_well=True), Finished)
    assert end.whole_job
    assert events_of(replace(view, restart=0), Restarted) == []


def events_of(view: JobSnapshot, kind: type[E]) -> list[E]:
    events = feed(RunRecordParser, *document(SCHEMA, view).splitlines())
    return [event for event in events if isinstance(event, kind)]


def test_the_back_end_of_each_group_is_read() -> None:
    group = GroupView(
        name="0", description="default_pg", backend="gloo", members=frozenset({Rank(0), Rank(1)})
    )
    view = JobSnapshot(at_s=1.5, up_s=1.0, world_size=2, groups=(group,))
    event = only(SettingSeen, feed(RunRecordParser, *document(SCHEMA, view).splitlines()))
    assert (event.name, event.value) == ("backend", "gloo")


def test_who_waited_for_whom_is_read() -> None:
    wait = Wait(
        call=CallRef(group="0", seq=21, op="all_reduce", members=frozenset(map(Rank, range(4)))),
        waiters=frozenset(map(Rank, (0, 1, 3))),
        awaited=frozenset({Rank(2)}),
        waited_s=8.5,
    )
    snapshot = Snapshot(world=frozenset(map(Rank, range(4))), waits=(wait,))
    view = JobSnapshot(at_s=1_763_712_000.5, up_s=60.0, world_size=4, snapshot=snapshot)
    event = only(WaitsSeen, feed(RunRecordParser, *document(SCHEMA, view).splitlines()))
    assert event.snapshot == snapshot


@pytest.mark.parametrize(
    "text", ['"snapshot":{"waits":[{"waiters":"0-"}]}}', '"snapshot":{"waits":7}}', '"snapshot":{']
)
def test_forged_waits_are_no_waits(text: str) -> None:
    assert [type(e) for e in feed(RunRecordParser, lines_of()[0], text)] == [WorldSeen]


def test_the_size_of_the_job_is_read() -> None:
    event = only(WorldSeen, feed(RunRecordParser, lines_of()[0]))
    assert event.world_size == 4


@pytest.mark.parametrize(
    "line",
    [
        '{"charge":"asleep"}',
        '{"charge":"asleep","stage":"never heard of"}',
        '{"charge":"of something","stage":"confirmed"}',
        '{"charge":"asleep","stage":"confirmed"',
        '["charge":"asleep"]',
        '"charge":"' + "[" * 100_000,
    ],
)
def test_what_is_no_suspicion_is_left_aside(line: str) -> None:
    assert feed(RunRecordParser, lines_of()[0], line)[1:] == []


def test_a_suspicion_outside_of_a_record_is_left_aside() -> None:
    assert feed(RunRecordParser, *lines_of(SUSPICION)[1:]) == []


def test_forged_values_read_as_unknown() -> None:
    forged = (
        '{"charge":"gone","stage":"suspected","culprits":"0-99999999","victims":7,"phase":9,'
        '"call":[1],"since_s":"soon","still_s":true,"place":{}}'
    )
    event = only(HoldUp, feed(RunRecordParser, lines_of()[0], forged))
    assert (event.culprits, event.victims, event.phase) == (frozenset(), frozenset(), None)
    assert (event.group, event.waited_s, event.still_s, event.place) == (None, 0.0, None, "")
