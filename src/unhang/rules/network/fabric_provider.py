"""The network plugin (libfabric, EFA) could not set up or finish a transfer.

## What it finds
`NET/OFI` errors of aws-ofi-nccl: addresses that cannot be inserted, requests that complete with an
error, providers that fail.

## Why it hangs
EFA is not TCP: a security group must let the group's own members talk to each other, in both
directions, by reference to itself. Ping and sockets work all the same.

## When it stays quiet
A plugin that finds no provider and leaves the job to sockets is not a failure. After a lost rank, a
stop or a time-out, failed requests are its echo and only a hint. An address that is refused after
training had begun was reached before: then the fabric failed, not the way to it.

## How to confirm
`fi_pingpong -p efa` between the two hosts; one run with `NCCL_NET=Socket`: if it works, the fabric
is at fault, not the program.

## What to do
Allow all traffic from and to the security group itself, inbound and outbound; the same plugin and
libfabric on all nodes.

## References
AWS documentation, "Get started with EFA and NCCL"; `aws-ofi-nccl/src/nccl_ofi_net.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import NcclReason
from unhang.model.events.lifecycle import training_state
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, order, rivals, speakers


@rule(
    "NET004",
    "fabric-provider-failed",
    cause=Cause.RDMA_FAULT,
    needs={Fact.NCCL_WARNINGS},
    explains=consequences.OF_A_BROKEN_LINK,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the plugin's errors."""
    found = speakers.nccl(incident, NcclReason.OFI_ERROR)
    if not found:
        return
    first = found[0]
    address = next((e for e in found if "address" in e.detail.lower()), None)
    if any(training_state(e) is not None and order.is_before(e, first) for e in incident.events):
        address = None  # the peers had reached each other
    against = rivals.of_errors(incident, found)
    yield check.finding(
        Strength.SUPPORTS,
        cause=Cause.RDMA_FAULT if address is None else Cause.NET_INTERFACE,
        claim=say(
            "NET004.claim",
            "the network plugin failed: {text}",
            text=first.detail[:160],
        )
        if address is None
        else say(
            "NET004.claim_address",
            "the network plugin cannot reach a peer's address: {text}",
            text=address.detail[:160],
        ),
        why=say(
            "NET004.why",
            "EFA traffic must be allowed by the security group to and from itself, in both"
            " directions; ping and sockets do not show it.",
        ),
        rival=against,
        at=first.at,
        evidence=found,
    )
