"""From a call over all its ranks to the few numbers that a report prints of it."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.events import GroupRef
from unhang.model.ids import Ranks
from unhang.model.incident import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCall:
    """A call as its first join saw it. None is unknown.

    Attributes:
        op: operation of the first join; several ranks may name others.
        group: the group's description, else its GUID.
        elapsed_ms: what had passed when the first rank gave up.
        joined: ranks that issued it, as far as they are known.
    """

    op: str | None
    seq: int | None
    group: str | None
    numel_in: int | None
    numel_out: int | None
    timeout_ms: int | None
    elapsed_ms: int | None
    joined: Ranks

    @classmethod
    def of(cls, call: Call) -> ShownCall:
        """Pick the numbers of `call`."""
        first = call.first
        return cls(
            op=None if first is None else first.op,
            seq=call.seq,
            group=_group_name(call.group),
            numel_in=None if first is None else first.numel_in,
            numel_out=None if first is None else first.numel_out,
            timeout_ms=call.timeout_ms,
            elapsed_ms=None if first is None else first.elapsed_ms,
            joined=call.joined,
        )


def _group_name(group: GroupRef | None) -> str | None:
    if group is None:
        return None
    if group.description is not None:
        return group.description
    return group.guid
