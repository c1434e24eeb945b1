"""How a class of ranks is shown: who, what they do, and where."""

from __future__ import annotations

from unhang.model.provenance import Message
from unhang.model.stack_states import Doing, StackClass

_SAID_BY_CALL = frozenset({Doing.WAITS, Doing.STEPS})
"""The library's own line adds nothing to what they do."""


def shown_standing(standing: StackClass) -> tuple[Message, Message]:
    """Return who stands there, and what they do where; `doing` in the second is a message too."""
    first = standing.first
    count = len(standing.ranks) + standing.unnamed
    if first.code == "":
        key = "place"
    elif first.doing is Doing.CODE:
        key = "place_own"
    else:
        key = "place_short" if first.doing in _SAID_BY_CALL else "place_code"
    where = Message(
        key=f"standing.{key}",
        values={"doing": _doing(standing, count), "frame": first.frame, "code": first.code},
    )
    return _who(standing), where


def _who(standing: StackClass) -> Message:
    values = {"ranks": standing.ranks, "count": standing.unnamed}
    if not standing.ranks:
        return Message(key="standing.unnamed", values=values)
    return Message(
        key="standing.ranks_more" if standing.unnamed else "standing.ranks", values=values
    )


def _doing(standing: StackClass, count: int) -> Message:
    first = standing.first
    phase = None if first.phase is None else first.phase.value
    values = {"count": count, "op": first.op or first.frame, "phase": phase}
    key = first.doing.value
    if first.doing is Doing.WAITS and phase is not None:
        key = "waits_phase"
    elif first.doing in {Doing.STORAGE, Doing.LOCKED} and phase is not None:
        key = f"{key}_phase"
    return Message(key=f"standing.{key}", values=values)
