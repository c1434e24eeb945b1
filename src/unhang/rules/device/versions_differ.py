"""Ranks run different versions of NCCL.

## What it finds
NCCL's "Mismatched NCCL version detected", or version banners of two NCCL releases from different
hosts of one start.

## Why it hangs
Ranks of different releases lay out their messages differently: old ones hang or report a truncated
message, new ones refuse.

## When it stays quiet
Two banners from one host may belong to two libraries of one process; a restart may follow an
upgrade.

## How to confirm
`python -c "import torch; print(torch.cuda.nccl.version())"` and `ldconfig -p | grep nccl` on every
host.

## What to do
One image, or one environment, for all hosts; remove `LD_LIBRARY_PATH` entries that put a system's
NCCL before the wheel's.

## References
NCCL `src/init.cc`, the check of 2.23 and later.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.causes import Cause
from unhang.model.events import NcclReason, VersionSeen
from unhang.model.events.base import Seen
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.rule import Rule, Status
from unhang.rules import witnesses
from unhang.rules.device.echoes import ECHOES_OF_A_LOST_GPU


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the mismatch that NCCL names, else for banners that differ."""
    told = witnesses.nccl(incident, NcclReason.NCCL_VERSIONS)
    banners = _banners(incident)
    if told:
        yield _finding(list(told), Strength.PROVES, told[0].detail[:160])
    elif len({b.version for b in banners}) > 1:
        versions = ", ".join(sorted({b.version for b in banners}))
        yield _finding(list(banners), Strength.HINTS, versions)


def _banners(incident: Incident) -> list[VersionSeen]:
    """One banner for each host."""
    by_host: dict[str, VersionSeen] = {}
    for event in incident.all(VersionSeen):
        if event.component == "nccl" and event.origin.host is not None:
            by_host.setdefault(event.origin.host, event)
    return list(by_host.values())


def _finding(found: list[Seen], strength: Strength, text: str) -> Finding:
    return Finding(
        rule=RULE.code,
        cause=Cause.VERSION_MISMATCH,
        strength=strength,
        claim=Message(key="DEV008.claim", values={"text": text}),
        why=Message(key="DEV008.why"),
        explains=ECHOES_OF_A_LOST_GPU,
        at=found[0].at,
        evidence=witnesses.evidence(found),
    )


RULE = Rule(
    code="DEV008",
    name="nccl-versions-differ",
    cause=Cause.VERSION_MISMATCH,
    since="0.1.0",
    status=Status.STABLE,
    needs=frozenset(),
    check=check,
)
