"""A rule: a pure function from an incident to findings, with a stable code."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass

from unhang.model.causes import Cause
from unhang.model.finding import Finding
from unhang.model.incident import Incident


class Status(enum.Enum):
    """How settled a rule is."""

    STABLE = "stable"
    PREVIEW = "preview"


class Fact(enum.Enum):
    """What a rule needs to run; a rule that lacks one is skipped visibly."""

    TIMEOUTS = "collective time-outs"
    STATUS = "last enqueued / last completed counters"
    DESYNC_REPORT = "a desync report"
    FINGERPRINTS = "DETAIL-mode fingerprints"
    BARRIERS = "monitored barriers"
    EXCEPTIONS = "Python exceptions"
    EXITS = "exit codes"
    KERNEL_LOG = "the kernel log"
    DEVICE_ERRORS = "CUDA errors"
    NCCL_WARNINGS = "NCCL warnings or errors"
    NCCL_INFO = "NCCL_DEBUG=INFO lines"
    STORE = "store and rendezvous messages"
    GLOO = "Gloo errors"
    PHASES = "phase marks or progress bars"
    STOPS = "stop signals"
    STACKS = "live stacks"
    RAS = "answers of NCCL's RAS"
    HOST_REPORTS = "reports of nvidia-smi or ibstat"
    DUMPS = "Flight Recorder dumps"
    UNUSABLE_DUMPS = "dumps that are empty or were refused"
    ANNOUNCEMENTS = "announcements of ranks at start-up"
    GUESSES = "guessed devices"
    VERSIONS = "versions of libraries"
    BANDWIDTH = "measured bandwidths"
    INSPECTOR = "logs of NCCL Inspector"
    GPU_TABLE = "tables of nvidia-smi"
    LIVE = "a record of the live judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One extension of the judge; calling it runs its check.

    Attributes:
        code: stable, such as `LOC001`.
        name: kebab-case; states the observed condition, never the remedy.
        cause: the cause its findings claim; None for locating rules.
        since: release that brought it.
        needs: facts without which it cannot run (any one of them suffices).
        check: the rule itself.
    """

    code: str
    name: str
    cause: Cause | None
    since: str
    status: Status
    needs: frozenset[Fact]
    check: Callable[[Incident], Iterator[Finding]]

    def __call__(self, incident: Incident) -> Iterator[Finding]:
        """Run the check."""
        return self.check(incident)


def rule(
    code: str,
    name: str,
    /,
    *,
    cause: Cause | None = None,
    needs: Set[Fact],
    since: str,
    status: Status = Status.STABLE,
) -> Callable[[Callable[[Incident], Iterator[Finding]]], Rule]:
    """Make a rule of the function `check` of a module; see `Rule` for the arguments.

    `unhang.rules` finds it by that name. The module's docstring is the rule's manual page.
    """

    def made(check: Callable[[Incident], Iterator[Finding]]) -> Rule:
        return Rule(
            code=code,
            name=name,
            cause=cause,
            since=since,
            status=status,
            needs=frozenset(needs),
            check=check,
        )

    return made
