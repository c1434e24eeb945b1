"""What an event means stands on its class, and events are found by their class."""

from __future__ import annotations

from typing import get_args

import pytest

from support.builders import ended, status, timeout
from unhang.model import events
from unhang.model.events import (
    CollectiveTimeout,
    Event,
    EventIndex,
    Fact,
    GroupStatus,
    PythonException,
    Role,
    Seen,
    Witness,
)

MEMBERS: tuple[type[Seen], ...] = get_args(Event)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: str(member.__name__))
def test_every_event_says_what_it_means(member: type[Seen]) -> None:
    said = vars(member)
    assert {"fact", "witness", "role"} <= said.keys()
    assert said["fact"] is None or isinstance(said["fact"], Fact)
    assert isinstance(said["witness"], Witness)
    assert isinstance(said["role"], Role)


@pytest.mark.parametrize(
    ("union", "role"),
    [
        (events.Alarm, Role.ALARM),
        (events.Fault, Role.FAULT),
        (events.End, Role.END),
        (events.Connection, Role.CONNECTION),
        (events.Setup, Role.SETUP),
        (events.Report, Role.REPORT),
    ],
)
def test_events_of_a_role_are_a_union_of_their_own(union: object, role: Role) -> None:
    assert set(get_args(union)) == {member for member in MEMBERS if member.role is role}


def test_every_fact_is_shown_by_some_event() -> None:
    assert {member.fact for member in MEMBERS} >= set(Fact)


def test_events_are_found_by_class_in_reading_order() -> None:
    told = [timeout(0), status(0, 7, 7, 6), timeout(1), ended(0, signal=9), timeout(2)]
    index = EventIndex(told)
    assert index.all(CollectiveTimeout) == (told[0], told[2], told[4])
    assert index.all(GroupStatus) == (told[1],)
    assert index.all(PythonException) == ()
    assert index.all(Seen) == tuple(told)
