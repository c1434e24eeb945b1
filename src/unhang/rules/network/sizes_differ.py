"""The network noticed that two ranks of one transfer disagree about its size.

## What it finds
NCCL's "collective mismatch error, local size … remote size …", "message truncated" of a transport,
and "incorrect receive info".

## Why it hangs
Both sides compute the size of every message from the collective's arguments and from settings. If
they differ, the ranks are in different collectives (another order, another shape), or they run with
different `NCCL_ALGO`, `NCCL_PROTO`, `NCCL_BUFFSIZE` or NCCL builds.

## When it stays quiet
"Message truncated" of the bootstrap is another thing: ranks of different versions or two jobs on
one port.

## How to confirm
`TORCH_DISTRIBUTED_DEBUG=DETAIL` prints the first collective that differs; compare `env | grep
NCCL_` and the NCCL version of all hosts.

## What to do
Make every rank issue the same collective with the same size; set the same NCCL variables on all
hosts (in the launcher, not in one host's shell profile).

## References
NCCL `src/transport/net_ib.cc` and `net_socket.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.causes import Cause
from unhang.model.events import NcclReason
from unhang.model.finding import Collect, Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status
from unhang.rules import witnesses
from unhang.rules.network.echoes import ECHOES_OF_A_BROKEN_LINK

_DETAIL = Collect(
    what=Message(key="collect.detail.what"),
    how=Message(key="collect.detail.how"),
    decides=Message(key="collect.detail.decides"),
)


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the sizes that differ."""
    found = witnesses.nccl(incident, NcclReason.SIZE_MISMATCH)
    if not found:
        return
    first = found[0]
    yield Finding(
        rule=RULE.code,
        cause=Cause.DESYNC,
        strength=Strength.SUPPORTS,
        claim=Message(
            key="NET012.claim",
            values={
                "hosts": witnesses.hosts(found) or "a host",
                "peer": first.peer or "its peer",
                "text": first.detail[:160],
            },
        ),
        why=Message(key="NET012.why"),
        against=Message(key="NET012.against_settings"),
        explains=ECHOES_OF_A_BROKEN_LINK | {Cause.RDMA_FAULT, Cause.NET_INTERFACE},
        at=first.at,
        evidence=witnesses.evidence(found),
        collect=(_DETAIL,),
    )


RULE = Rule(
    code="NET012",
    name="transfer-sizes-differ",
    cause=Cause.DESYNC,
    since="0.1.0",
    status=Status.STABLE,
    needs=frozenset({Fact.NCCL_WARNINGS}),
    check=check,
)
