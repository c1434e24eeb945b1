"""Events are found by their class."""

from __future__ import annotations

from builders import ended, status, timeout
from unhang.model.events import CollectiveTimeout, EventIndex, GroupStatus, PythonException, Seen


def test_events_are_found_by_class_in_reading_order() -> None:
    events = [timeout(0), status(0, 7, 7, 6), timeout(1), ended(0, signal=9), timeout(2)]
    index = EventIndex(events)
    assert index.all(CollectiveTimeout) == (events[0], events[2], events[4])
    assert index.all(GroupStatus) == (events[1],)
    assert index.all(PythonException) == ()
    assert index.all(Seen) == tuple(events)
