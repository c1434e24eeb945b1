"""A failure that is known to come from one release of a library.

## What it finds
The few failures that a release's own symptom identifies: text and version together.

## Why it hangs
See the named report.

## When it stays quiet
Without the version, or with the symptom alone, where other causes look the same; after a lost rank
or a stop.

## How to confirm
The same job with the next release of the library.

## What to do
Upgrade (or downgrade) the library named.

## References
NVIDIA/nccl#1176 (NCCL before 2.18.6); pytorch/pytorch#152780 and NVIDIA/nccl#2418 (NCCL 2.26.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang.model.events import NcclFailure, NcclReason, VersionSeen
from unhang.model.incident import Manner
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, rivals


@dataclass(frozen=True, slots=True)
class _Bug:
    """One known bug: what is seen, in which NCCL releases (None: the text alone), its report."""

    reason: NcclReason
    since: tuple[int, ...] | None
    fixed: tuple[int, ...] | None
    report: str

    def fits(self, failure: NcclFailure, version: tuple[int, ...] | None) -> bool:
        """Whether the failure shows this bug in an affected release."""
        if failure.reason is not self.reason:
            return False
        if self.since is None or self.fixed is None:
            return True
        return version is not None and self.since <= version < self.fixed


_BUGS = (
    _Bug(NcclReason.MESSAGE_TRUNCATED, None, None, "NVIDIA/nccl#1176"),
    _Bug(NcclReason.CUDA_KERNEL, (2, 26, 2), (2, 26, 3), "NVIDIA/nccl#2418"),
)


@rule(
    "DEV011",
    "known-library-bug",
    cause=Cause.LIBRARY_BUG,
    needs={Fact.NCCL_WARNINGS},
    explains=(consequences.OF_A_LOST_GPU - {Cause.LIBRARY_BUG}) | {Cause.GPU_KERNEL_FAULT},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first bug that fits."""
    for failure in incident.all(NcclFailure):
        version = _version(incident, failure)
        bug = next((b for b in _BUGS if b.fits(failure, version)), None)
        if bug is not None:
            yield _finding(incident, failure, bug)
            return


def _finding(incident: Incident, failure: NcclFailure, bug: _Bug) -> Finding:
    against = rivals.of_errors(incident, [failure], kin=frozenset({Manner.DEVICE}))
    return check.finding(
        Strength.SUPPORTS,
        claim=say(
            "DEV011.claim",
            "a known library bug ({report}): {text}",
            report=bug.report,
            text=failure.detail[:160],
        ),
        why=say("DEV011.why", "This text in this release is described in the report."),
        rival=against,
        at=failure.at,
        evidence=[failure],
    )


def _version(incident: Incident, failure: NcclFailure) -> tuple[int, ...] | None:
    """NCCL's release, from the error itself or from the banner."""
    banners = [v.version for v in incident.all(VersionSeen) if v.component == "nccl"]
    text = failure.nccl_version or next(iter(banners), None)
    if text is None:
        return None
    return tuple(int(part[:9]) for part in text.split(".") if part.isdecimal())
