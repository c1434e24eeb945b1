"""Events of what was asked of several hosts: their addresses, their answers, the links between."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.events.base import Seen
from unhang.model.events.meaning import Fact, Role, Witness


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAddress(Seen, fact=Fact.HOST_REPORTS, witness=Witness.TOOL, role=Role.REPORT):
    """An address of a host: of an interface, of an adapter (its LID), or of a device of it.

    Attributes:
        host: whose it is.
        address: as it is printed.
        interface: of which, or "" where that is not told.
        by_name: it is what the name of the host resolves to, on that host itself.
    """

    host: str
    address: str
    interface: str = ""
    by_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostsDiffer(Seen, fact=Fact.HOST_REPORTS, witness=Witness.TOOL, role=Role.REPORT):
    """A few hosts answer or print something else than all others, who say the same.

    Attributes:
        hosts: the few.
        among: all that were heard.
        says: what they say.
        others: what the others say.
    """

    hosts: frozenset[str]
    among: frozenset[str]
    says: str
    others: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMemorySeen(Seen, fact=Fact.HOST_REPORTS, witness=Witness.TOOL, role=Role.REPORT):
    """How full shared memory (/dev/shm) was when somebody looked; `share` goes from 0 to 1."""

    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMeasured(Seen, fact=Fact.BANDWIDTH, witness=Witness.TOOL, role=Role.REPORT):
    """What somebody measured between two hosts, in GB/s; `one` is None where nothing names it."""

    one: str | None
    other: str
    gbps: float
