"""Ranks run different versions of NCCL.

## What it finds
NCCL's "Mismatched NCCL version detected", or version banners of two NCCL releases from different
hosts or files of one start; the more so where a rank received a message of another length than it
expected, or a check inside NCCL failed.

## Why it hangs
Ranks of different releases lay out their messages differently: old ones hang or report a truncated
message, new ones refuse.

## When it stays quiet
Two banners from one host may belong to two libraries of one process; a restart may follow an
upgrade. Banners alone are a hint: the releases may be compatible.

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

from collections.abc import Iterator, Sequence

from unhang import lazy_re as re
from unhang.model.events import NcclClass, NcclFailure, NcclReason, VersionSeen
from unhang.model.events.base import Seen
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, speakers

_OF_RANK = re.compile(r"\brank (\d{1,6}) version (\d{3,9})")
_MISUNDERSTOOD = (
    NcclReason.MESSAGE_TRUNCATED,
    NcclReason.SIZE_MISMATCH,
    NcclReason.WRONG_MAGIC,
    NcclReason.NET_MISMATCH,
)
"""What a rank sees when a peer lays out its messages differently."""


@rule(
    "DEV008",
    "nccl-versions-differ",
    cause=Cause.VERSION_MISMATCH,
    needs={Fact.NCCL_WARNINGS, Fact.VERSIONS},
    explains=consequences.OF_A_LOST_GPU,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the mismatch that NCCL names, else for banners that differ."""
    told = speakers.nccl(incident, NcclReason.NCCL_VERSIONS)
    if told:
        yield _finding(list(told), Strength.PROVES, told[0].detail[:160], _few(told))
        return
    banners = _banners(incident)
    if len({b.version for b in banners}) > 1:
        versions = ", ".join(sorted({b.version for b in banners}))
        misunderstood = [
            *speakers.nccl(incident, *_MISUNDERSTOOD),
            *(e for e in incident.all(NcclFailure) if e.error_class is NcclClass.INTERNAL),
        ]
        strength = Strength.SUPPORTS if misunderstood else Strength.HINTS
        yield _finding([*banners, *misunderstood], strength, versions)


def _banners(incident: Incident) -> list[VersionSeen]:
    """One banner for each host, or for each file where no host is named."""
    by_place: dict[str, VersionSeen] = {}
    for event in incident.all(VersionSeen):
        if event.component == "nccl":
            by_place.setdefault(event.origin.host or event.source.artifact, event)
    return list(by_place.values())


def _few(told: Sequence[NcclFailure]) -> Ranks:
    """The ranks of the release that fewer have, where NCCL names both of enough ranks."""
    ranks: dict[str, set[Rank]] = {}
    for event in told:
        for rank, version in _OF_RANK.findall(event.detail):
            ranks.setdefault(version, set()).add(Rank(int(rank)))
    few, *more = sorted(ranks.values(), key=len) or [set[Rank]()]
    return frozenset(few) if more and 2 * len(few) < sum(map(len, ranks.values())) else NO_RANKS


def _finding(
    found: list[Seen], strength: Strength, text: str, culprits: Ranks = NO_RANKS
) -> Finding:
    return check.finding(
        strength,
        culprits=culprits,
        claim=say("DEV008.claim", "ranks run different versions of NCCL: {text}", text=text),
        why=say("DEV008.why", "Releases of NCCL do not understand each other's messages."),
        at=found[0].at,
        evidence=found,
    )
