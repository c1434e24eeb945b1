"""From all events to the distinct ones: every failure is printed several times.

A watchdog prints its time-out up to three times (on its own, inside "terminated with exception",
inside `what():`); log collectors and `--tee` copy whole streams. Repeats are told by what they
say of whom, never by their text: prefixes differ.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from unhang.model.events import (
    Alarm,
    BarrierMissing,
    CollectiveTimeout,
    DesyncReported,
    DeviceFault,
    DumpSignal,
    Event,
    Fault,
    FingerprintMismatch,
    GlooFault,
    GroupStatus,
    KernelEvent,
    ModelMismatch,
    NcclFailure,
    PythonException,
    StoreFault,
    WatchdogAborted,
    WatchdogStuck,
)


def drop_repeats(events: Iterable[Event]) -> list[Event]:
    """Return the events without repeated prints, in reading order.

    The first print is kept; where a later one names the group or the time and the first does
    not, the later one takes its place.
    """
    kept: list[Event] = []
    places: dict[Hashable, int] = {}
    for event in events:
        key = _key(event)
        if key is None:
            kept.append(event)
        elif key not in places:
            places[key] = len(kept)
            kept.append(event)
        elif _tells_more(event, kept[places[key]]):
            kept[places[key]] = event
    return kept


def _key(event: Event) -> Hashable | None:
    """What the event says of whom; None for events that are never repeats."""
    if not isinstance(event, Alarm | Fault):
        return None
    match event:
        case CollectiveTimeout():
            return (
                "timeout",
                _who(event),
                event.group_rank,
                event.seq,
                event.op,
                event.numel_in,
                event.elapsed_ms,
            )
        case GroupStatus():
            return (
                "status",
                _who(event),
                event.group_rank,
                event.group,
                event.failed,
                event.enqueued,
                event.completed,
            )
        case WatchdogAborted():
            return ("aborted", _who(event), event.group_rank, event.reason)
        case NcclFailure():
            if event.warning:
                return None  # who retries warns each time
            return ("nccl", _who(event), event.error_class, event.reason, event.detail)
        case DumpSignal() | WatchdogStuck() | DesyncReported() | BarrierMissing():
            return None  # printed once
        case FingerprintMismatch() | ModelMismatch() | StoreFault() | GlooFault():
            return None
        case PythonException() | DeviceFault() | KernelEvent():
            return None  # merged by process, in `failures`


def _who(event: Event) -> Hashable:
    """The speaker; the artifact takes part only where the line itself does not tell."""
    origin = event.origin
    if origin.rank is not None:
        return origin.rank
    return (origin.host, origin.local_rank, origin.pid, origin.task)


def _tells_more(new: Event, old: Event) -> bool:
    if isinstance(new, CollectiveTimeout) and isinstance(old, CollectiveTimeout):
        return (new.group is not None and old.group is None) or (
            new.at is not None and old.at is None and old.group is None
        )
    return new.at is not None and old.at is None
