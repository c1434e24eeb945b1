"""The links of one host are slow, and those between the others are fast.

## What it finds
What people measured between their hosts with iperf, `ib_write_bw` or nccl-tests, one pair after the
other: every slow pair has one host in common, and no fast pair has it. NCCL may say beside it that
GPUDirect RDMA is off on one host only.

## Why it hangs
Every collective waits for its slowest link: one host whose adapter, cable or driver gives a part of
what the others reach slows all of them, and large calls may reach their timeout.

## When it stays quiet
With fewer than two fast pairs there is nothing to compare with. Where slow pairs have no host in
common the switch or the tests are at fault, not a host. Beside a failure of its own it is a hint.

## How to confirm
Measure the host against two others, in both directions; then `ethtool`, `ibstat`, `lspci -vv`
(speed and width of the slot), `lsmod | grep peermem` on it and on a healthy one.

## What to do
Leave the host out until its cable, port, slot or driver is as on the others.

## References
nccl-tests; `ib_write_bw(1)` of perftest; `iperf3(1)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import LinkMeasured
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import order
from unhang.rules.shared.measured_links import slow_links

_FEWEST_FAST = 2


@rule(
    "NET204",
    "links-of-one-host-slow",
    cause=Cause.BANDWIDTH_LOW,
    needs={Fact.BANDWIDTH},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the host that all slow links have in common."""
    links = incident.all(LinkMeasured)
    slow = slow_links(incident)
    fast = [link for link in links if link not in slow]
    host = _common(slow, fast)
    if host is None or len(fast) < _FEWEST_FAST:
        return
    worst = min(slow, key=lambda link: link.gbps)
    failed = incident.own_failures or order.stops(incident) or incident.finished
    yield check.finding(
        Strength.HINTS if failed else Strength.SUPPORTS,
        claim=say(
            "NET204.claim",
            "the links of {host} give {slow:.2f} GB/s, those between other hosts {fast:.2f}",
            host=host,
            slow=worst.gbps,
            fast=max(link.gbps for link in fast),
        ),
        why=say("NET204.why", "Every collective waits for its slowest link."),
        culprit_hosts=frozenset({host}),
        evidence=[worst, *(link for link in slow if link is not worst), fast[0]],
    )


def _common(slow: Sequence[LinkMeasured], fast: Sequence[LinkMeasured]) -> str | None:
    """The one host that is an end of all slow links, and of no fast one."""
    if not slow:
        return None
    ends = [frozenset({link.one, link.other} - {None}) for link in slow]
    healthy = frozenset(end for link in fast for end in (link.one, link.other))
    common = frozenset.intersection(*ends) - healthy
    return next(iter(common)) if len(common) == 1 else None
