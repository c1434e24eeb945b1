"""From the exception that a line ends to the other facts on that line: they are one process's.

The traceback knows whose it is (`-- Process 3 terminated with the following error:`, a table, a
logger's mark on its first line); the CUDA error or the store's message on its last line is read
without them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

from unhang.model.events import Event, PythonException
from unhang.model.provenance import NOBODY, Origin


def share_origins(events: Iterable[Event]) -> list[Event]:
    """Return the events, those on the last line of a traceback with all that it tells of whose."""
    events = list(events)
    owners = {_place(e): e.origin for e in events if isinstance(e, PythonException)}
    return [_owned(e, owners.get(_place(e), e.origin)) for e in events]


def _place(event: Event) -> tuple[str, int | None]:
    return event.source.artifact, event.source.line


def _owned(event: Event, owner: Origin) -> Event:
    """`event` with what its own origin lacks."""
    if owner == event.origin:
        return event
    lacking = {
        field.name: getattr(owner, field.name)
        for field in fields(Origin)
        if getattr(event.origin, field.name) == getattr(NOBODY, field.name)
    }
    return replace(event, origin=replace(event.origin, **lacking))
