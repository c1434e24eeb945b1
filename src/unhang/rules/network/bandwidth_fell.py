"""The bandwidth of large collectives fell far below what it was, and then one timed out.

## What it finds
In the logs of NCCL Inspector, for collectives of one kind and a size of at least 1 MiB: even the
best rank's last bus bandwidth is less than a quarter of the best one at the beginning.

## Why it hangs
A link, an adapter or a GPU has become slower, or other traffic takes its bandwidth; large
collectives take many times longer, until one reaches the timeout.

## When it stays quiet
While no collective timed out: jobs have slow phases. A kernel's time includes its wait for late
ranks, so one slow rank would look like a slow network: the rank that joins last waits for nobody,
and its bandwidth is the one that counts. With records of one rank alone, and above a tenth, it is a
hint.

## How to confirm
`nvidia-smi nvlink -s`, `ibstat`, counters of the ports (`perfquery -x`), `dmesg`, before and after
a run of nccl-tests on the same hosts.

## What to do
Drain the host whose link or GPU is slow; look for other traffic on the fabric.

## References
NCCL `ext-profiler/inspector/README.md`; nccl-tests, `doc/PERFORMANCE.md` (bus bandwidth).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import CollectivesMeasured
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import measured

_LARGE_BYTES = 1 << 20
_LEAST_TIMED = 10
_FALLEN, _FALLEN_FAR = 0.25, 0.1


@rule("NET202", "bandwidth-fell", cause=Cause.BANDWIDTH_LOW, needs={Fact.INSPECTOR})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the collectives that became slowest."""
    if not incident.calls:
        return
    worst: Finding | None = None
    least = _FALLEN
    for events in measured.by_communicator(incident).values():
        for (op, size_bytes), paces in measured.paces(events, _LEAST_TIMED).items():
            before = max(p.early_gbps for p in paces.values())
            after = max(p.late_gbps for p in paces.values())
            if size_bytes < _LARGE_BYTES or before <= 0 or after / before >= least:
                continue
            least = after / before
            sure = least <= _FALLEN_FAR and len(paces) > 1
            values = {"op": op, "before": before, "after": after, "size": size_bytes}
            worst = _finding(events, values, Strength.SUPPORTS if sure else Strength.HINTS)
    if worst is not None:
        yield worst


def _finding(
    events: Sequence[CollectivesMeasured], values: dict[str, object], strength: Strength
) -> Finding:
    return check.finding(
        strength,
        claim=say(
            "NET202.claim",
            "The bus bandwidth of {op} of {size:bytes} fell from {before:.1f} to {after:.1f} GB/s.",
            **values,
        ),
        why=say(
            "NET202.why",
            "Even the rank that joins last, whose kernel waits for nobody, became slower.",
        ),
        against=say(
            "NET202.against", "Nothing shows whether the call that timed out was slow or stuck."
        ),
        at=events[0].at,
        evidence=events,
    )
