"""How far the calls of a rank have come from one beat to the next."""

from __future__ import annotations

from unhang.live.messages.reports import Beat


def calls_moved(before: Beat, after: Beat) -> tuple[bool, bool]:
    """Whether calls were issued, and whether some began or ended, between two beats."""
    issued, ended = before.issued != after.issued, False
    if before.groups is after.groups:
        return issued, ended
    if before.groups.keys() != after.groups.keys():
        return True, True
    for name, group in after.groups.items():
        was = before.groups[name]
        if was is not group:
            issued = issued or was.enqueued != group.enqueued
            ended = ended or was.completed != group.completed or was.started != group.started
    return issued, ended


def quiet_s(beat: Beat) -> float:
    """Seconds since a call was issued or ended last, as the process says; 0 if it does not."""
    moments = [g.since_s for g in beat.groups.values() if g.since_s is not None]
    return max(0.0, beat.mono_s - max(moments)) if moments else 0.0
