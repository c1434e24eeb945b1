"""A GPU ran out of memory, and nvidia-smi lists a process on it that does not belong to the job.

## What it finds
Beside a failed allocation: a process in the table of `nvidia-smi` that holds more than 1 GiB of a
GPU and is none of the job's processes, often what an earlier run left behind.

## Why it hangs
The memory that it holds is missing; the rank that asks for it raises and leaves, and the others
wait.

## When it stays quiet
Without a failed allocation; and where no process in the table is known to belong to the job:
containers have pids of their own, so all would look foreign.

## How to confirm
`ps -fp PID` on that host: who started it, and when?

## What to do
End it if it is yours (`kill PID`), or give the job GPUs of its own.

## References
`nvidia-smi(1)`; PyTorch documentation, "Understanding CUDA memory usage".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import GpuProcess
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.device.allocations import Allocation, find_allocations
from unhang.rules.shared import gpu_use, speakers


@rule("DEV203", "memory-held-by-others", cause=Cause.GPU_OOM, needs={Fact.GPU_TABLE})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the foreign process that holds most."""
    failed = find_allocations(incident)
    own = {pid for facts in incident.roster.values() for pid in facts.pids}
    listed = [p for found in gpu_use.processes(incident).values() for p in found]
    hosts = {p.origin.host for p in listed if p.pid in own} & _hosts_of(incident, failed)
    foreign = [p for p in listed if p.pid not in own and p.origin.host in hosts]
    most = max(foreign, key=_held, default=None)
    if not failed or most is None or most.used_mib is None:
        return
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "DEV203.claim",
            "Process {pid} ({name}), not one of this job, holds {held:bytes} of GPU {gpu}.",
            pid=most.pid,
            name=most.name[-60:],
            held=most.used_mib << 20,
            gpu=most.gpu,
        ),
        why=say("DEV203.why", "That memory is missing where the job's allocation failed."),
        culprit_hosts=speakers.hosts([most]),
        at=failed[0].at,
        evidence=[most, failed[0]],
    )


def _hosts_of(incident: Incident, failed: Sequence[Allocation]) -> set[str | None]:
    """Hosts on which an allocation failed; None, and all that are known, where one is unknown."""
    facts = [incident.roster.get(rank) for rank in speakers.ranks(incident, failed)]
    known = {f.host for f in facts if f is not None}
    if known and None not in known:
        return known | {None}
    return {p.origin.host for p in incident.all(GpuProcess)}


def _held(process: GpuProcess) -> int:
    return process.used_mib or 0
