"""What one rule says about one incident."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.causes import Cause
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import Call
from unhang.model.phases import Phase
from unhang.model.provenance import Message, Provenance
from unhang.model.strength import Strength
from unhang.model.time import Instant

__all__ = ["Collect", "Finding", "Strength"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect:
    """What would decide, and how to get it.

    Attributes:
        what, how, decides: keys and values of the catalogue.
    """

    what: Message
    how: Message
    decides: Message

    @classmethod
    def of(cls, topic: str, **values: object) -> Collect:
        """What the catalogue says of a topic under `collect`, with some values."""
        return cls(
            what=Message(key=f"collect.{topic}.what", values=values),
            how=Message(key=f"collect.{topic}.how", values=values),
            decides=Message(key=f"collect.{topic}.decides", values=values),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement of one rule.

    Attributes:
        rule: code of the rule.
        cause: None for findings that only say who and where.
        claim: one sentence a tired person understands.
        why: why the evidence means that.
        against: what speaks against it, or None.
        culprits: ranks that hold others up, only as far as the evidence names them.
        explains: causes whose findings are mere consequences if this one holds.
        at: when the thing happened, for the causal order.
        call: the stuck call it is about, or None.
        collect: what to look at next.
        urgent: a person must see it whatever the verdict is; it says nothing of who or why.
    """

    rule: str
    cause: Cause | None
    strength: Strength
    claim: Message
    why: Message
    against: Message | None = None
    culprits: Ranks = NO_RANKS
    culprit_hosts: frozenset[str] = frozenset()
    phase: Phase | None = None
    explains: frozenset[Cause] = frozenset()
    at: Instant | None = None
    call: Call | None = None
    evidence: tuple[Provenance, ...]
    collect: tuple[Collect, ...] = ()
    urgent: bool = False
