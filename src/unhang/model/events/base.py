"""What every event carries: where it stood, who printed it and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhang.model.events.meaning import Fact, Role, Witness
from unhang.model.provenance import Origin, Provenance
from unhang.model.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Base of all events: `class RankLost(Seen, fact=…, witness=…, role=…)` says what one means.

    Attributes:
        fact: what it shows that a rule may need; None where no rule asks for it.
        witness: who tells.
        role: what it is in the course of the job.
        of_any_text: any text gives one: it does not tell what kind of file it was read from.
        source: the place the event was read from.
        origin: who printed it, from prefixes and file name.
        at: the time printed with it, or None.
    """

    fact: ClassVar[Fact | None]
    witness: ClassVar[Witness]
    role: ClassVar[Role]
    of_any_text: ClassVar[bool] = False

    source: Provenance
    origin: Origin
    at: Instant | None = None

    def __init_subclass__(
        cls,
        *,
        fact: Fact | None = None,
        witness: Witness | None = None,
        role: Role | None = None,
        of_any_text: bool = False,
    ) -> None:
        """Keep what the class says of itself; a class remade for its slots has it already."""
        if witness is not None and role is not None:
            cls.fact, cls.witness, cls.role, cls.of_any_text = fact, witness, role, of_any_text

    @property
    def gave_up(self) -> bool:
        """Whether somebody gave up waiting for others: the alarm."""
        return self.role is Role.ALARM

    @property
    def waits(self) -> bool:
        """Whether somebody waits for others, or gave up."""
        return self.gave_up


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRef:
    """A process group as a log line names it.

    Attributes:
        guid: PG GUID, equal on every rank; None where the line has none (torch <= 2.4).
        local_id: the per-process counter `PG ID`; never compare it between ranks.
        description: the group's description such as `default_pg` or `mesh_tp`.
    """

    guid: str | None = None
    local_id: int | None = None
    description: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether this is certainly the world group."""
        return self.description == "default_pg"

    @property
    def name(self) -> str | None:
        """A name that is equal on all its ranks, or None where there is none."""
        if self.guid is not None or self.description is not None:
            return self.guid if self.guid is not None else self.description
        return None if self.local_id is None else f"#{self.local_id}"
