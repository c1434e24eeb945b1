"""A host shows fewer GPUs than the others, or a GPU without the NVLink that its peers have.

## What it finds
In the tables and matrices of `nvidia-smi` of several hosts: one with fewer GPUs than most. In one
matrix (`nvidia-smi topo -m`): a GPU that no NVLink connects, while all others are connected.

## Why it hangs
A GPU that fell off the bus is no longer listed, and its rank's kernels never end. One that lost its
links is reached over PCIe, if at all.

## When it stays quiet
Different kinds of hosts in one job may legitimately differ, and a report carries no time. It is a
hint, which the kernel log or CUDA's errors must support.

## How to confirm
`dmesg -T | grep -i xid` on that host, `nvidia-smi nvlink -s`, and
`systemctl status nvidia-fabricmanager`.

## What to do
Drain the host; reset or replace the GPU.

## References
`nvidia-smi(1)`; NVIDIA, "XID Errors".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from unhang.model.events import GpuState, TopologySeen
from unhang.model.events.base import Seen
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared import speakers

_LEAST_HOSTS = 3
_LEAST_GPUS = 3


@rule("DEV204", "gpu-missing", cause=Cause.GPU_HARDWARE, needs={Fact.GPU_TABLE})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first host with fewer GPUs, and one for a GPU without links."""
    by_host = _gpus_by_host(incident)
    usual = Counter(len(gpus) for gpus in by_host.values()).most_common(1)
    if len(by_host) >= _LEAST_HOSTS and usual[0][1] > 1:
        for gpus in by_host.values():
            if len(gpus) < usual[0][0]:
                seen = next(iter(gpus.values()))
                yield _finding(
                    say(
                        "DEV204.claim",
                        "{hosts} shows {count} {count:|GPU|GPUs}, where the other hosts show"
                        " {usual}.",
                        hosts=_host(seen),
                        count=len(gpus),
                        usual=usual[0][0],
                    ),
                    seen,
                )
                break
    for topology in incident.all(TopologySeen):
        alone = _without_nvlink(topology)
        if alone is not None:
            yield _finding(
                say(
                    "DEV204.claim_link",
                    "No NVLink connects GPU {gpu} of {hosts}, while all its peers have one.",
                    gpu=alone,
                    hosts=_host(topology),
                ),
                topology,
            )
            return


def _gpus_by_host(incident: Incident) -> dict[str, dict[int, Seen]]:
    found: dict[str, dict[int, Seen]] = {}
    for event in incident.events:
        host = event.origin.host
        if host is None:
            continue
        if isinstance(event, GpuState):
            found.setdefault(host, {})[event.index] = event
        elif isinstance(event, TopologySeen):
            found.setdefault(host, {}).update(dict.fromkeys(event.gpus, event))
    return found


def _without_nvlink(topology: TopologySeen) -> int | None:
    """The one GPU that no NVLink connects to any other, where all others are connected."""
    linked = {
        name
        for link in topology.links
        if link.kind.startswith("NV") and link.one.startswith("GPU")
        for name in (link.one, link.other)
    }
    alone = [gpu for gpu in topology.gpus if f"GPU{gpu}" not in linked]
    return alone[0] if len(alone) == 1 and len(topology.gpus) > _LEAST_GPUS else None


def _finding(claim: Message, event: Seen) -> Finding:
    return check.finding(
        Strength.HINTS,
        claim=claim,
        why=say(
            "DEV204.why",
            "A GPU that fell off the bus is no longer listed; its rank's kernels never end.",
        ),
        against=say(
            "DEV204.against", "A report carries no time, and hosts may legitimately differ."
        ),
        culprit_hosts=speakers.hosts([event]),
        evidence=[event],
    )


def _host(event: Seen) -> str:
    return event.origin.host or "a host"
