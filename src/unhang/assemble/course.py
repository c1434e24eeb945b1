"""From marks of success, versions and frameworks to what the job was and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from unhang.model.events import (
    Event,
    Finished,
    FrameworkSeen,
    ProcessEnded,
    Progress,
    VersionSeen,
)
from unhang.settings import frameworks


def has_finished(events: Sequence[Event]) -> bool:
    """Whether the whole job says that it ended well, and nothing after that says otherwise.

    One rank's last word is none of the job's where work goes on, or where the launcher then sees
    another process leave with an error.
    """
    last = max(
        (i for i, e in enumerate(events) if isinstance(e, Finished) and e.whole_job), default=None
    )
    if last is None:
        return False
    artifact = events[last].source.artifact
    later = (e for e in events[last + 1 :] if e.source.artifact == artifact)
    return not any(
        (isinstance(e, Progress) and _under_way(e)) or (isinstance(e, ProcessEnded) and _failed(e))
        for e in later
    )


def _failed(end: ProcessEnded) -> bool:
    return end.exit_code not in (None, 0) and not end.worker


def _under_way(bar: Progress) -> bool:
    return bar.total is not None and bar.done < bar.total


def find_versions(events: Sequence[Event]) -> dict[str, tuple[str, str]]:
    """Return the version of each component that most lines tell, with its basis."""
    told: dict[str, Counter[tuple[str, str]]] = {}
    for event in events:
        if isinstance(event, VersionSeen):
            told.setdefault(event.component, Counter())[event.version, event.basis] += 1
    return {component: votes.most_common(1)[0][0] for component, votes in told.items()}


def find_framework(events: Sequence[Event]) -> tuple[str, str] | None:
    """Return the outermost framework that left a mark, and the mark."""
    marks = {e.name: e.basis for e in reversed(events) if isinstance(e, FrameworkSeen)}
    # A wrapper shows as the layer below too: the outermost one is whose configuration is edited.
    outermost = next((name for name in frameworks() if name in marks), None)
    return (outermost, marks[outermost]) if outermost else next(iter(sorted(marks.items())), None)
