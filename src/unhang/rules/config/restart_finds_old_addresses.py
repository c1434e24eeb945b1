"""After a restart the ranks look for each other at the addresses of the previous start.

## What it finds
A job that its launcher restarted: its ranks connected in the first start, and cannot connect now.

## Why it hangs
From torch 2.5 on, torchrun's agent keeps one store for all starts, and process groups write the
addresses of their ranks under the same keys each time. A rank that reads before its peer has
written gets the address of a process that is gone: the connection is refused, or waited for until
the timeout.

## When it stays quiet
In the first start of a job, where the first start did not connect either, where torch is older than
2.5, and where every start has a store of its own. A rank that failed first makes it a hint.

## How to confirm
Start the same command with `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1` and kill a rank: the restart
connects.

## What to do
Set `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1` for torchrun on all nodes. Under `unhang run
--on-hang abort` it is not needed: each restart has keys of its own.

## References
pytorch issue 135712; `torch/distributed/elastic/rendezvous/dynamic_rendezvous.py` of 2.13.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import GlooFault, GlooProblem, NcclReason, SettingSeen
from unhang.model.events.base import Seen
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Status, Strength, rule, say
from unhang.rules.shared import rivals, speakers
from unhang.settings.versions import at_least

_SHARES_SINCE = "2.5"
_ECHOES = frozenset({Cause.NET_INTERFACE, Cause.RANK_EXCEPTION})
_GLOO = frozenset({GlooProblem.CONNECT_FAILED, GlooProblem.LOOPBACK})
_OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"


@rule(
    "CFG007",
    "restart-finds-old-addresses",
    cause=Cause.RENDEZVOUS,
    needs={Fact.GLOO},
    status=Status.PREVIEW,
    explains=_ECHOES,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for a restart whose ranks do not find each other."""
    failed: list[Seen] = [
        *(g for g in incident.all(GlooFault) if g.problem in _GLOO),
        *speakers.nccl(incident, NcclReason.CONNECT_REFUSED),
    ]
    if not failed or not incident.connected_before or not _may_share(incident):
        return
    against = rivals.of_errors(incident, failed)
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "CFG007.claim",
            "After a restart the ranks cannot connect, although the first start could: they find "
            "the addresses of the previous start",
        ),
        why=say(
            "CFG007.why",
            "From torch 2.5 on all starts under one torchrun share a store. A rank that reads"
            " it before its peer has written gets the address of a process that is gone.",
        ),
        rival=against,
        against=say("CFG007.against", "the network may have failed in the meantime"),
        phase=Phase.INIT,
        at=failed[0].at,
        evidence=failed,
    )


def _may_share(incident: Incident) -> bool:
    """Whether all starts may have used one store."""
    torch, _ = incident.versions.get("torch", (None, ""))
    own = any(s.name == _OWN_STORE and s.value == "1" for s in incident.all(SettingSeen))
    return not own and at_least(torch, _SHARES_SINCE) is not False
