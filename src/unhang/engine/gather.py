"""From artifacts to events: every parser over every artifact; one bad part costs only itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from unhang.errors import ArtifactError
from unhang.model.events import Event
from unhang.model.provenance import Problem
from unhang.parsers import PARSERS
from unhang.parsers.base import Parser
from unhang.sources.artifact import Artifact
from unhang.sources.select import Wanted, select

WANTED = tuple(Wanted(needles=p.NEEDLES, after=p.AFTER, sampled=p.SAMPLED) for p in PARSERS)


@dataclass(slots=True)
class Gathered:
    """What was read."""

    events: list[Event] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def gather(items: Iterable[Artifact | Problem]) -> Gathered:
    """Read all artifacts."""
    gathered = Gathered()
    for item in items:
        if isinstance(item, Problem):
            gathered.problems.append(item)
            continue
        gathered.artifacts.append(item)
        events, problems = read_artifact(item)
        gathered.events.extend(events)
        gathered.problems.extend(problems)
    return gathered


def read_artifact(artifact: Artifact) -> tuple[list[Event], list[Problem]]:
    """Feed one artifact to the parsers that want its lines. Never raises on any bytes."""
    parsers: dict[int, Parser] = {}
    events: list[Event] = []
    problems: list[Problem] = []
    try:
        for line, hits in select(artifact, WANTED):
            for index in sorted(hits):
                parser = parsers.setdefault(index, PARSERS[index]())
                events.extend(parser.feed(line))
    except (ArtifactError, OSError) as error:
        problems.append(Problem(artifact=artifact.name, component="reader", message=str(error)))
    for parser in parsers.values():
        events.extend(parser.finish())
    # A parser with memory says an event when its last line is known: back to the place it is at.
    events.sort(key=lambda event: event.source.line or 0)
    return events, problems
