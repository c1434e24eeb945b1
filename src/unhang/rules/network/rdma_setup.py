"""An InfiniBand or RoCE resource could not be set up.

## What it finds
Failed verbs calls: memory that cannot be registered ("Cannot allocate memory"), queue pairs that
cannot be made or connected, devices and functions that refuse. Or hosts that took sockets while
others took RDMA, and no step since.

## Why it hangs
The rank that fails raises at its first transfer; its peers wait in the same set-up. "Cannot
allocate memory" here is neither host nor GPU memory: it is the limit on locked memory
(`ulimit -l`), which containers, Slurm and MPI set on their own. A queue pair that cannot reach its
peer points to the GID index, the partition, or two subnets without a route.

## When it stays quiet
A device that merely cannot be opened is skipped by NCCL and is not a failure.

## How to confirm
`ulimit -l` inside the job (not in a login shell); `show_gids`; `ibv_rc_pingpong -g INDEX` between
the hosts.

## What to do
`--ulimit memlock=-1` for containers, `LimitMEMLOCK=infinity` for slurmd, then log in again;
`NCCL_IB_GID_INDEX` of the RoCE v2 entry; `NCCL_IB_HCA` with adapters of one kind only. For
"dmabuf … not supported": a newer RDMA driver, or `NCCL_DMABUF_ENABLE=0`.

## References
NCCL documentation, "Troubleshooting: networking issues"; `src/misc/ibvwrap.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import NcclFailure, NcclReason, Progress, TransportUsed
from unhang.model.ids import NO_RANKS
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, order, rivals, speakers

_STRENGTHS = {
    NcclReason.IB_MEMORY_LOCK: Strength.PROVES,
    NcclReason.IB_QP_CONNECT: Strength.PROVES,
    NcclReason.IB_DEVICE: Strength.SUPPORTS,
}
"""In the order of what they tell."""


@rule(
    "NET007",
    "rdma-resource-refused",
    cause=Cause.RDMA_FAULT,
    needs={Fact.NCCL_WARNINGS, Fact.NCCL_INFO},
    explains=consequences.OF_A_BROKEN_SETUP | {Cause.HOST_OOM, Cause.NET_INTERFACE},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the most telling kind of failed call."""
    for reason, sure in _STRENGTHS.items():
        found = speakers.nccl(incident, reason)
        if found:
            yield _finding(incident, found, sure)
            return
    yield from _on_two_networks(incident)


def _on_two_networks(incident: Incident) -> Iterator[Finding]:
    """Hosts that took sockets while the others took RDMA, and no step was seen since."""
    chosen = [t for t in incident.all(TransportUsed) if t.via.lower().startswith("network ")]
    sockets = [t for t in chosen if "socket" in t.transport.lower()]
    others = [t for t in chosen if t not in sockets]
    without, having = (speakers.hosts(events) for events in (sockets, others))
    if not without or not having or without & having:
        return
    if not all(order.is_before(step, sockets[0]) for step in incident.all(Progress)):
        return
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "NET007.claim_two",
            "{without} took TCP sockets while {having} took RDMA",
            without=without,
            having=having,
        ),
        why=say(
            "NET007.why_two",
            "What one side sends over RDMA the other waits for on a socket. A host that falls "
            "back found no usable adapter: its driver, its devices or its settings differ.",
        ),
        rival=rivals.of_errors(incident, sockets),
        culprits=speakers.ranks(incident, sockets),
        culprit_hosts=without,
        at=sockets[0].at,
        evidence=[sockets[0], others[0]],
    )


def _finding(incident: Incident, found: Sequence[NcclFailure], sure: Strength) -> Finding:
    first = found[0]
    bare = first.reason is NcclReason.IB_QP_CONNECT and "create_qp" in first.detail
    against = rivals.of_errors(incident, found)
    # A queue pair takes two to connect; what a process's own devices refuse is of its host.
    own = bare or first.reason is not NcclReason.IB_QP_CONNECT
    return check.finding(
        Strength.SUPPORTS if bare else sure,
        claim=say(
            "NET007.claim",
            "{hosts} could not set up RDMA: {text}",
            hosts=speakers.hosts(found) or "a host",
            text=first.detail[:160],
        ),
        why=say(
            "NET007.why_lock",
            "RDMA pins memory; the limit on locked memory (`ulimit -l`) of this process is"
            " too low. Neither host nor GPU memory ran out.",
        )
        if first.reason is NcclReason.IB_MEMORY_LOCK
        else say(
            "NET007.why",
            "The queue pair or the device refused: a wrong GID index or partition, two"
            " subnets without a route, or an RDMA driver that lacks the function.",
        ),
        rival=against,
        culprits=speakers.unless_all(incident, speakers.ranks(incident, found))
        if own
        else NO_RANKS,
        culprit_hosts=speakers.minority_hosts(incident, found),
        at=first.at,
        evidence=found,
    )
