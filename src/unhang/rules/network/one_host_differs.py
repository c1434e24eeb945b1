"""One host's network is not like that of all others.

## What it finds
Answers of all hosts to the same question (`pdsh`, a loop over `ssh`), or what NCCL says of its
network, where one host says something else than all others: an adapter that is missing or down,
another MTU, another speed, GPUDirect RDMA that is off, a module that is not loaded, a limit.

## Why it hangs
Two sides that are set up differently do not understand each other, or one slows all: frames that
are too long are dropped, an adapter that one side lacks is waited for by the other.

## When it stays quiet
Fewer than three hosts, or several that differ, leave open who is wrong. What differs need not
matter: it is a hint, and more only where links were measured and all slow ones lead to that host.

## How to confirm
Ask the host and one of the others the same question by hand.

## What to do
Set the host up like the others, or leave it out.

## References
NCCL documentation, troubleshooting; `pdsh(1)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import HostsDiffer
from unhang.model.forms import rows
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared.measured_links import slow_links

_MEANINGS = tuple(
    (Cause(row["cause"]), pattern) for row, pattern in rows("unhang.rules.network", "differs.toml")
)
"""What a difference of an answer is about; the first that fits counts."""


@rule(
    "NET205",
    "network-of-one-host-differs",
    cause=Cause.RDMA_FAULT,
    needs={Fact.HOST_REPORTS},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the host that differs, where it is the only one."""
    told = [(d, c) for d in incident.all(HostsDiffer) if (c := _cause(d)) is not None]
    hosts = {d.hosts for d, _ in told}
    if len(hosts) != 1:
        return
    first, cause = told[0]
    slow = slow_links(incident)
    measured = bool(slow) and all(first.hosts & {link.one, link.other} for link in slow)
    yield check.finding(
        Strength.SUPPORTS if measured and not incident.own_failures else Strength.HINTS,
        cause=Cause.BANDWIDTH_LOW if measured else cause,
        claim=say(
            "NET205.claim",
            "{hosts} says “{says}” where all other hosts say “{others}”",
            hosts=first.hosts,
            says=first.says,
            others=first.others,
        ),
        why=say("NET205.why", "A host that is set up differently fails, or slows the others."),
        culprit_hosts=first.hosts,
        evidence=[*(d for d, _ in told), *slow],
    )


def _cause(differs: HostsDiffer) -> Cause | None:
    both = f"{differs.says} | {differs.others}"
    return next((cause for cause, pattern in _MEANINGS if pattern.search(both)), None)
