"""From an incident to what happened, step by step, in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from unhang.model.diagnosis import StoryItem
from unhang.model.events import Event, PythonException, Restarted, StopSeen
from unhang.model.ids import NO_RANKS, Rank
from unhang.model.incident import Call, Failure, Incident, Manner
from unhang.model.provenance import Message, Provenance
from unhang.model.time import Instant, format_instant

_MOST = 8


def tell(incident: Incident, *, ended_well: bool = False) -> tuple[StoryItem, ...]:
    """Return at most `_MOST` steps: what was under way, who failed, who waited, who was closed.

    In a job that ended well nothing is under way.
    """
    under_way = () if ended_well or incident.finished else _phases(incident)
    steps = [*_stops(incident), *under_way, *_failures(incident), *_calls(incident)]
    places = {e.source: place for place, e in enumerate(incident.events)}
    steps.sort(key=lambda step: places.get(step.item.evidence, len(places)))
    return tuple(step.item for step in _in_time(steps)[:_MOST])


@dataclass(frozen=True, slots=True)
class _TimedStep:
    """A step that still has its time as a time."""

    item: StoryItem
    at: Instant | None

    def later_than(self, other: _TimedStep) -> bool:
        """Whether both print a time and this one's is later."""
        if self.at is None or other.at is None:
            return False
        gap_s = self.at.since(other.at)
        return gap_s is not None and gap_s > max(self.at.resolution_s, other.at.resolution_s)


def _in_time(steps: Iterable[_TimedStep]) -> list[_TimedStep]:
    """Steps in reading order, each put before those above it that are later."""
    ordered: list[_TimedStep] = []
    for step in steps:
        position = len(ordered)
        while position and ordered[position - 1].later_than(step):
            position -= 1
        ordered.insert(position, step)
    return ordered


def _item(
    what: Message, source: Provenance, at: Instant | None, ranks: frozenset[Rank] = NO_RANKS
) -> _TimedStep:
    printed = None if at is None else format_instant(at)
    return _TimedStep(StoryItem(at=printed, ranks=ranks, what=what, evidence=source), at)


def _stops(incident: Incident) -> Iterator[_TimedStep]:
    seen: set[object] = set()
    for event in incident.events:
        if isinstance(event, StopSeen) and event.kind not in seen:
            seen.add(event.kind)
            what = Message(key=f"story.stop.{event.kind.value}")
            yield _item(what, event.source, event.at, _ranks(event))
        elif isinstance(event, Restarted) and "restart" not in seen:
            seen.add("restart")
            what = Message(key="story.start" if event.launch else "story.restart")
            yield _item(what, event.source, event.at)


def _phases(incident: Incident) -> Iterator[_TimedStep]:
    for phase in islice((p for p in incident.open_phases if p.unfinished), 2):
        ranks = NO_RANKS if phase.rank is None else frozenset({phase.rank})
        lasted_s = 0.0 if phase.lasted_s is None else phase.lasted_s
        key = "story.phase_lasted" if lasted_s >= 1 else "story.phase"
        values = {"detail": phase.detail or phase.phase.value, "lasted_s": lasted_s}
        yield _item(Message(key=key, values=values), phase.source, phase.since, ranks)


def _failures(incident: Incident) -> Iterator[_TimedStep]:
    """The first failures of their own, one for each manner, with all ranks that share it."""
    by_manner: dict[Manner, list[Failure]] = {}
    for failure in incident.failures:
        if failure.own or failure.manner is Manner.PEER:
            by_manner.setdefault(failure.manner, []).append(failure)
    for manner, failures in by_manner.items():
        ranks = frozenset(f.rank for f in failures if f.rank is not None)
        key = f"story.failure.{manner.value}"
        yield _item(
            Message(key=key, values={"count": len(ranks) or _processes(failures)}),
            failures[0].source,
            _printed(failures[0]),
            ranks,
        )


def _processes(failures: Sequence[Failure]) -> int:
    """At least how many, where no rank is named: an error of a chain is of who printed the last."""
    told = (f.events[0] for f in failures)
    return sum(not (isinstance(e, PythonException) and e.chained) for e in told) or 1


def _printed(failure: Failure) -> Instant | None:
    """The earliest time that a line on the failure itself prints; the line above may be old."""
    own = [event.at for event in failure.events if event.at is not None]
    return own[0] if own else None


def _calls(incident: Incident) -> Iterator[_TimedStep]:
    for call in incident.calls[:3]:
        first = call.first
        if first is not None:
            yield _item(_timeout_message(call), first.source, first.at, call.joined)


def _timeout_message(call: Call) -> Message:
    """What was given up; a line that was cut off tells neither number nor limit."""
    values: dict[str, object] = {"op": "/".join(sorted(call.ops)) or "a collective"}
    if call.seq is not None:
        values["op"] = f"{values['op']} #{call.seq}"
    if call.timeout_ms is None:
        return Message(key="story.timeout", values=values)
    return Message(key="story.timeout_after", values={**values, "timeout_ms": call.timeout_ms})


def _ranks(event: Event) -> frozenset[Rank]:
    return NO_RANKS if event.origin.rank is None else frozenset({event.origin.rank})
