"""Flux's exceptions of jobs that somebody else ended, in its messages and in its event log."""

from __future__ import annotations

from unhang.model.events import StopKind

_KINDS = {"timeout": StopKind.TIME_LIMIT, "preempt": StopKind.PREEMPTED}


def kind_of(exception: str) -> StopKind:
    """What the type of an exception of severity 0 means (RFC 21, "Job States and Events")."""
    return _KINDS.get(exception, StopKind.CANCELLED)
