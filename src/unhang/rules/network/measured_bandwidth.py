"""nccl-tests measured far less than the link that NCCL knows of.

## What it finds
The best bus bandwidth of large messages (64 MiB and more) against the best link that NCCL's
topology search prints (`System : maxBw`), or, without it, against what GPUs with NVLink reach on
one host, and what hosts with data-centre GPUs reach between them, at the very least. A test that
ends well may still show it.

## Why it hangs
Nothing fails: the data goes a slower way (few channels, host memory instead of NVLink, sockets
instead of InfiniBand). In training every collective takes five to ten times longer, and large ones
reach the timeout.

## When it stays quiet
Small messages are bound by latency. Above a quarter of the link the figure may be right for the
algorithm. One rank alone measures nothing. Beside a run that hung, failed or was stopped it is a
hint: the test may be the trial that turned the faster way off.

## How to confirm
Run the same test without `NCCL_TOPO_FILE`, `NCCL_P2P_*`, `NCCL_ALGO`, `NCCL_MAX_NCHANNELS` and the
like; compare the number of channels and `nvidia-smi topo -m`.

## What to do
Remove the variable that the log shows as set; let NCCL detect the topology; check the links with
`nvidia-smi nvlink -s`, and access control (ACS) on PCIe.

## References
nccl-tests, `doc/PERFORMANCE.md` (bus bandwidth); NCCL `src/graph/topo.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from unhang import lazy_re as re
from unhang.model.events import (
    BandwidthMeasured,
    KernelEvent,
    SettingSeen,
    SettingTried,
    StopSeen,
    TransportUsed,
    VersionSeen,
    WorldSeen,
)
from unhang.model.events.base import Seen
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say

_LARGE_BYTES = 64 << 20
_FAR_BELOW = 0.25
_NVLINKED = re.compile(r"SXM|HBM3|H[12]00(?!.*PCIe)|GB?[23]00|\bHGX\b|NVL")
_NVLINK_LEAST_GBPS = 100.0
_DATA_CENTRE = re.compile(r"SXM|HGX|NVL|\b(?:[AVHB]\d{2,3}|GB\d{3}|L40S?|MI\d{3})X?\b")
_NETWORK_LEAST_GBPS = 1.0
"""Ten-gigabit Ethernet; hosts that hold such GPUs are connected by more."""
_STEERS = re.compile(
    r"NCCL_(?:TOPO_FILE|P2P_\w+|SHM_DISABLE|ALGO|PROTO|\w*NCHANNELS|\w*NRINGS|\w*CTAS|GRAPH_FILE|"
    r"NVLS_ENABLE|IB_DISABLE|NET|NET_GDR_LEVEL|BUFFSIZE|NTHREADS)$"
)


class _Link(NamedTuple):
    """What could be reached, and the line that says so."""

    gbps: float
    source: Seen


@rule(
    "NET009", "measured-bandwidth-far-below-link", cause=Cause.BANDWIDTH_LOW, needs={Fact.BANDWIDTH}
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield a finding when the best large row is far below the link."""
    rows = [r for r in incident.all(BandwidthMeasured) if r.size_bytes >= _LARGE_BYTES]
    link = _link(incident)
    if not rows or link is None:
        return
    best = max(rows, key=lambda r: r.busbw_gbps)
    if best.busbw_gbps <= 0 or best.busbw_gbps > _FAR_BELOW * link.gbps:
        return
    steering = [s for s in incident.all(SettingSeen) if _STEERS.match(s.name)]
    named = ", ".join(sorted({f"{s.name}={s.value}" for s in steering}))
    channels = [t.channels for t in incident.all(TransportUsed) if t.channels is not None]
    alone = Strength.PROVES if len(_hosts(incident)) <= 1 else Strength.SUPPORTS
    yield check.finding(
        Strength.HINTS if _troubled(incident) else alone,
        claim=say(
            "NET009.claim_setting",
            "large messages reach {measured:.1f} GB/s where the link gives {link:.0f}"
            " GB/s, with {settings} set",
            measured=best.busbw_gbps,
            link=link.gbps,
            settings=named,
        )
        if named
        else say(
            "NET009.claim",
            "large messages reach {measured:.1f} GB/s where the link gives {link:.0f} GB/s",
            measured=best.busbw_gbps,
            link=link.gbps,
        ),
        why=say(
            "NET009.why_channels",
            "The data takes a slower path than the topology offers; NCCL uses {channels} channels.",
            channels=min(channels, default=None),
        )
        if channels
        else say("NET009.why", "The data takes a slower path than the topology offers."),
        at=best.at,
        evidence=[best, link.source, *steering],
    )


def _troubled(incident: Incident) -> bool:
    """Whether the job failed, was stopped or shows a fault: then the test is one of its trials."""
    faults = any(incident.all(kind) for kind in (StopSeen, KernelEvent, SettingTried))
    return faults or len(incident.calls) > 0 or any(f.own for f in incident.failures)


def _link(incident: Incident) -> _Link | None:
    """The best link that NCCL knows; else what such GPUs reach at least, by where they are."""
    known = [_Link(t.link_gbps, t) for t in incident.all(TransportUsed) if t.link_gbps is not None]
    if known:
        return max(known, key=lambda link: link.gbps)
    gpus = [v for v in incident.all(VersionSeen) if v.component == "gpu"]
    hosts = len(_hosts(incident))
    if len(gpus) > 1 and hosts == 1 and _NVLINKED.search(gpus[0].version):
        return _Link(_NVLINK_LEAST_GBPS, gpus[0])
    if hosts > 1 and gpus and all(_DATA_CENTRE.search(gpu.version) for gpu in gpus):
        return _Link(_NETWORK_LEAST_GBPS, gpus[0])
    return None


def _hosts(incident: Incident) -> frozenset[str]:
    return frozenset(w.host for w in incident.all(WorldSeen) if w.host is not None)
