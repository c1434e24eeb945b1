"""A check before the job found a fault in a host or a link.

## What it finds
The report of `unhang check --format json` among the files: what it found wrong with a host, or with
the link between two, if that can make a job hang.

## Why it hangs
A link that loses packets, an interface that others cannot reach, a small `/dev/shm` or a slow disk
do not go away by themselves: the job meets them as soon as it needs them.

## When it stays quiet
A check describes the time at which it ran. Alone it is a hint, whatever it says. It supports a
verdict where the job's own network errors, within a day after it, name the host or the address that
the check had named. What the check passed says nothing.

## How to confirm
Run the check again: `unhang check` started by the job's launcher.

## What to do
What the check says; until then leave the host out (`unhang check --exclude-file`).

## References
`unhang check`, docs/commands.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import CheckFault, GlooFault, NcclFailure, StoreFault
from unhang.model.events.base import Seen
from unhang.model.host_lists import short_host
from unhang.model.rule import (
    Cause,
    Fact,
    Finding,
    Incident,
    Message,
    Status,
    Strength,
    rule,
    say,
)
from unhang.model.time import Clock, Instant, format_instant
from unhang.rules.shared import speakers

_CAUSES = (
    (
        Cause.BANDWIDTH_LOW,
        r"stage\.link_(?:lossy|slow)|fact\.(?:nic_slow|nic_errors|rdma_rates|cores_taken)",
    ),
    (
        Cause.NET_INTERFACE,
        r"stage\.(?:link_broken|pair_failed)|fact\.(?:nic_\w+|name_(?!slow)\w+|master_\w+)",
    ),
    (Cause.RDMA_FAULT, r"fact\.(?:rdma_\w+|limit_memlock)"),
    (Cause.SHM_SMALL, r"fact\.shm_\w+"),
    (Cause.HOST_OOM, r"fact\.(?:memory_\w+|pressure_memory|swap_\w+)"),
    (
        Cause.CHECKPOINT_SLOW,
        r"fact\.(?:storage_(?:files_)?slow|save_(?:too_long|close)|pressure_io)",
    ),
    (
        Cause.GPU_HARDWARE,
        r"fact\.(?:gpu_(?:hangs|unanswered|slowed|ecc|rows|recovery|link)|fabric_\w+|kernel_mce)",
    ),
    (Cause.VERSION_MISMATCH, r"fact\.(?:driver_old|nccl_differs)"),
)
"""What a fault, by the beginning of its id, can be the cause of; others are of no known one."""
_NETWORK = frozenset({Cause.BANDWIDTH_LOW, Cause.NET_INTERFACE, Cause.RDMA_FAULT})
_DAY_S, _ZONES_S = 86_400.0, 14 * 3_600.0
"""How old a check may be; by how much a time without a zone may be off."""


@rule("DEV205", "check-found-fault", needs={Fact.CHECKS}, status=Status.PREVIEW)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each cause; of the faults that the job's own errors name, if any."""
    errors = speakers.in_order(
        e for e in incident.events if isinstance(e, (NcclFailure, GlooFault, StoreFault))
    )
    for cause, pattern in _CAUSES:
        found = [e for e in incident.all(CheckFault) if re.match(pattern, e.fault)]
        meant = {e: [one for one in errors if _same(e, one)] for e in found if cause in _NETWORK}
        named = [fault for fault, told in meant.items() if told]
        if not found:
            continue
        first = (named or found)[0]
        claim = _claim(first, meant.get(first) or errors)
        why = say(
            "DEV205.why",
            "What was wrong when the hosts were checked may still be wrong while the job runs.",
        )
        evidence = [first, *meant.get(first, ())]
        if named:  # whatever the verdict is, and whichever cause it explains away
            yield check.finding(
                Strength.HINTS, cause=None, claim=claim, why=why, evidence=evidence, urgent=True
            )
        yield check.finding(
            Strength.SUPPORTS if named and first.grave else Strength.HINTS,
            cause=cause,
            claim=claim,
            why=why,
            against=None
            if named
            else say(
                "DEV205.against",
                "The check describes an earlier time, and no error of the job names that host.",
            ),
            culprit_hosts=frozenset(first.hosts) if named else frozenset(),
            evidence=evidence,
        )


def _claim(fault: CheckFault, errors: Sequence[Seen]) -> Message:
    at = errors[0].at if errors else None
    ago_s = None if at is None or fault.at is None else at.since(fault.at)
    hosts, text = " - ".join(fault.hosts), fault.text[:200]
    if ago_s is not None and ago_s > 0:
        return say(
            "DEV205.claim_ago",
            "`unhang check` had found a fault in {hosts} {ago:s} before ({text}).",
            hosts=hosts,
            ago=ago_s,
            text=text,
        )
    when = None if fault.at is None else format_instant(fault.at)
    return say(
        "DEV205.claim",
        "`unhang check` of {at} found a fault in {hosts} ({text}).",
        hosts=hosts,
        at=when,
        text=text,
    )


def _same(fault: CheckFault, error: Seen) -> bool:
    """Whether an error of the job names a host of the fault, within a day after the check."""
    if not _follows(fault.at, error.at):
        return False
    peer = error.host if isinstance(error, StoreFault) else getattr(error, "peer", None)
    told = {short_host(name) for name in (error.origin.host, peer) if name}
    named = {short_host(name) for name in (*fault.hosts, *fault.addresses)}
    return len(told & named) >= (1 if len(fault.hosts) == 1 else len(told))


def _follows(check_at: Instant | None, error_at: Instant | None) -> bool:
    """A time without a zone is taken for any; one that cannot be compared is no hindrance."""
    if check_at is None or error_at is None:
        return False
    ago_s = error_at.since(check_at)
    if ago_s is not None:
        return 0 <= ago_s <= _DAY_S
    ago_s = error_at.since(replace(check_at, clock=Clock.LOCAL))
    return ago_s is not None and -_ZONES_S <= ago_s <= _DAY_S + _ZONES_S
