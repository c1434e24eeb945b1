"""From the events of all ranks to incidents, one for each incarnation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from unhang.assemble.calls import find_calls
from unhang.model.coverage import Coverage
from unhang.model.events import Event
from unhang.model.incident import Incident
from unhang.sources.artifact import Artifact


def assemble(events: Sequence[Event], artifacts: Iterable[Artifact]) -> tuple[Incident, ...]:
    """Turn events into incidents, oldest incarnation first; at least one."""
    files = sum(1 for _ in artifacts)
    return (
        Incident(
            events=tuple(events),
            calls=find_calls(events),
            coverage=Coverage(sources={"log": files}),
        ),
    )
