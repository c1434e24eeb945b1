"""One incarnation's events with what resolves their speakers and their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from unhang.assemble.identity import Identity
from unhang.assemble.timeline import Timeline
from unhang.model.events import Event, EventIndex
from unhang.model.events.base import Seen
from unhang.model.incident import World

E = TypeVar("E", bound=Seen)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What every part of `assemble` works on."""

    events: Sequence[Event]
    identity: Identity
    timeline: Timeline
    world: World

    @cached_property
    def index(self) -> EventIndex:
        """The events by their class."""
        return EventIndex(self.events)

    def all(self, kind: type[E]) -> tuple[E, ...]:
        """Events of one class, in reading order."""
        return self.index.all(kind)
