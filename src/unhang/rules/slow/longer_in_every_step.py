"""A few ranks take longer than all others in every step, which wait for them that long.

## What it finds
Times that the program prints for each rank: what some ranks work longer (on data, on copies to the
GPU, on the model) is as much as the others wait longer; the last few steps count. Where the program
also prints how much each rank has to do (batches, tokens, a share), and they have more, the work is
uneven.

## Why it hangs
A synchronous step takes as long as the slowest rank. The others show 100 % use of their GPUs, and
wait; when one step takes longer than the timeout, they give up.

## When it stays quiet
Where nobody waits, or everybody alike; where it is another rank in each step; where no time of the
late ranks explains the wait of the others. It is a hint where the others wait less than a quarter
of a step and no report says that a late GPU is behind its peers, and where a process failed by
itself. Times of the model alone do not tell a slow GPU from more work: then it says who it is,
unless a report of that GPU says that it is slowed.

## How to confirm
Swap the shards, or the hosts, of that rank and another one: does the wait move with the data or
with the host?

## What to do
Data: look at the disk, the file system, the CPUs of that host. Copies: the PCIe link of its GPU.
The model: clocks and temperature of its GPU. More to do: split the work evenly, by what it costs.

## References
`nvidia-smi -q -d PERFORMANCE`; `torch.utils.data.DataLoader`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import HostProblem, HostReport, Part
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared import order
from unhang.rules.slow.step_times import Straggler, find_straggler, is_long

_CAUSES = {Part.DATA: Cause.DATA_SLOW, Part.COPY: Cause.BANDWIDTH_LOW}
_EXPLAINED = frozenset({Cause.BANDWIDTH_LOW, Cause.NET_INTERFACE, Cause.TIMEOUT_SHORT})


@rule(
    "SLO008",
    "longer-in-every-step-than-others",
    needs={Fact.RANK_TIMES},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the ranks that the others wait for."""
    late = find_straggler(incident)
    if late is None:
        return
    failed = any(f.manner in order.DECISIVE for f in incident.failures)
    slowed = _slowed(incident, late)
    cause = Cause.UNEVEN_WORK if late.more is not None else _CAUSES.get(late.part)
    if late.part is Part.COMPUTE and slowed is not None:
        cause = Cause.GPU_HARDWARE
    sure = is_long(late) or slowed is not None
    shown = [
        late.told,
        late.usual,
        *([late.more] if late.more else ()),
        *([slowed] if slowed else ()),
    ]
    yield check.finding(
        Strength.SUPPORTS if sure else Strength.HINTS,
        cause=cause,
        claim=say(
            "SLO008.claim",
            "{ranks:ranks} {count:|takes|take} longer than the others in every step"
            " (`{measure}`: {own:,.2f} instead of {usual:,.2f}).",
            ranks=late.ranks,
            count=len(late.ranks),
            measure=late.told.measure,
            own=late.told.typical,
            usual=late.usual.typical,
        ),
        why=say(
            "SLO008.why",
            "What {ranks:ranks} {count:|works|work} longer is what {others:ranks} wait longer:"
            " {share:.0f} % of each step.",
            ranks=late.ranks,
            count=len(late.ranks),
            others=late.others,
            share=100 * late.share,
        ),
        rival=say("SLO.against_failure", "Something else failed, perhaps earlier.")
        if failed
        else None,
        against=None if sure else _little(),
        culprits=late.ranks,
        phase=Phase.DATA if cause is Cause.DATA_SLOW else None,
        explains=_EXPLAINED - {cause} if cause is not None else frozenset(),
        at=late.told.at,
        evidence=shown,
    )


def _little() -> Message:
    return say("SLO008.against_little", "The others wait only a small part of each step.")


_BEHIND = {
    Part.COMPUTE: frozenset(
        {HostProblem.GPU_SLOWED, HostProblem.GPU_SLOWED_ALONE, HostProblem.GPU_BEHIND}
    ),
    Part.COPY: frozenset({HostProblem.GPU_LINK_SLOW}),
}


def _slowed(incident: Incident, late: Straggler) -> HostReport | None:
    """What says that the GPU of a late rank is behind the others, or those of one host alone.

    Where nothing tells whose GPU it is, the only ones that are behind are those of who is late.
    """
    reports = [
        r for r in incident.all(HostReport) if r.problem in _BEHIND.get(late.part, frozenset())
    ]
    own = [r for r in reports if r.origin.rank in late.ranks]
    hosts = {r.origin.host for r in reports}
    if not own and len(hosts) == 1 and None not in hosts:
        own = [r for r in reports if r.origin.rank is None]
    return next(iter(own), None)
