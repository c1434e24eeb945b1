"""What a check of a host or a cluster found before a job starts. Durations in seconds."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from unhang.model.provenance import Message


class Status(enum.Enum):
    """How a fact or a stage turned out."""

    PASS = "pass"  # noqa: S105 (no password)
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    """It could not be looked at; the message says why."""


_GRAVITY = (Status.SKIP, Status.PASS, Status.WARN, Status.FAIL)


def worst(statuses: Iterable[Status]) -> Status:
    """The gravest; `SKIP` where there is none.

    >>> worst((Status.PASS, Status.WARN, Status.SKIP)).value
    'warn'
    """
    return max(statuses, key=_GRAVITY.index, default=Status.SKIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One fact of a host, or one step of the ramp.

    Attributes:
        name: stable, such as `swap` or `pairs`.
        message: what was found, and what it means for a job.
        do: what to do about it; None where nothing is to be done.
        host: whose fact it is; "" = the whole job's.
        ranks: whom it concerns; empty = all of that host or job.
        measured, expected: values by name, with units in the names.
        source: where the limit comes from; "" where there is none.
    """

    name: str
    status: Status
    message: Message
    do: Message | None = None
    host: str = ""
    ranks: frozenset[int] = frozenset()
    measured: Mapping[str, object] = field(default_factory=dict)
    expected: Mapping[str, object] = field(default_factory=dict)
    source: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A host or a link that a stage names.

    Attributes:
        host: the host; "" where it is a link.
        link: its two hosts; empty where it is a host.
        stage: which stage named it.
        status: `FAIL` = leave it out; `WARN` = look at it.
    """

    stage: str
    why: Message
    host: str = ""
    link: tuple[str, ...] = ()
    ranks: frozenset[int] = frozenset()
    status: Status = Status.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """Everything that a check found: the JSON contract `unhang.check/1`.

    Attributes:
        hosts: names, in the order of their first ranks.
        world: ranks of the job; 1 where there is none.
        at: when it began, ISO 8601 in UTC.
        verdict: one sentence.
        pair_tests, rounds: what it took to find bad hosts and links.
        seconds: what the whole check took.
    """

    hosts: tuple[str, ...]
    world: int = 1
    at: str = ""
    verdict: Message
    stages: tuple[Stage, ...]
    suspects: tuple[Suspect, ...] = ()
    pair_tests: int = 0
    rounds: int = 0
    seconds: float = 0.0

    @property
    def status(self) -> Status:
        """The gravest of all stages."""
        return worst(stage.status for stage in self.stages)

    @property
    def excluded(self) -> tuple[str, ...]:
        """Hosts to leave out: those named, and one end of each bad link that has no such host.

        Of links the end that takes part in most of them is left out: as few hosts as possible.
        """
        failed = [s for s in self.suspects if s.status is Status.FAIL]
        named = {suspect.host for suspect in failed if suspect.host}
        links = [frozenset(s.link) for s in failed if s.link]
        while left := [link for link in links if not link & named]:
            ends = sorted({end for link in left for end in link})
            named.add(max(ends, key=lambda end: sum(end in link for link in left)))
        return tuple(sorted(named))
