"""One incarnation's events with what resolves their speakers and their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unhang.assemble.identity import Identity
from unhang.assemble.timeline import Timeline
from unhang.model.events import Event
from unhang.model.incident import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What every part of `assemble` works on."""

    events: Sequence[Event]
    identity: Identity
    timeline: Timeline
    world: World
