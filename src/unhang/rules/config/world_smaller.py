"""A collective of the whole job ran over a different number of ranks than the job announced.

## What it finds
A time-out of an all-gather or a reduce-scatter in the default group whose two sizes tell a number
of ranks (`NumelOut / NumelIn`) that no line of the job announced as its world size.

## Why it hangs
It does not by itself. But whoever looks for eight ranks where only four run looks in the wrong
place: half of the processes may be a second job beside the first, or may never have joined it.

## When it stays quiet
Where the call is not known to be of the default group: sub-groups are smaller than the job. Where
any announced world fits, as with an inference engine that has a world of its own. Where the sizes
do not divide.

## How to confirm
Print `torch.distributed.get_world_size()` on every process; compare `WORLD_SIZE`,
`--nproc-per-node`, `--nnodes` and `CUDA_VISIBLE_DEVICES` of all of them.

## What to do
Start one launcher for each node with the same `--nnodes` and rendezvous endpoint; a launcher that
starts each process as a job of its own gives each a world of one.

## References
PyTorch, `ProcessGroupNCCL::_allgather_base`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.architectures import group_size
from unhang.model.events import WorldSeen
from unhang.model.incident import Call
from unhang.model.rule import Fact, Finding, Incident, Status, Strength, rule, say


@rule("CFG008", "group-size-not-the-announced-world", needs={Fact.TIMEOUTS}, status=Status.PREVIEW)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one warning where a call of all ranks has another size than every announced world."""
    told = [e for e in incident.all(WorldSeen) if e.world_size is not None]
    worlds = {e.world_size for e in told}
    if len(worlds) != 1:
        return
    for call in incident.calls:
        size = _size(call)
        if size is not None and size not in worlds:
            yield check.finding(
                Strength.SUPPORTS,
                claim=say(
                    "CFG008.claim",
                    "A {op} of the whole job ran over {size} {size:|rank|ranks}, but the job"
                    " announced {world}.",
                    op=next(iter(call.ops)),
                    size=size,
                    world=next(iter(worlds)),
                ),
                why=say(
                    "CFG008.why",
                    "Its output is {size} times its input: the world that these processes joined is"
                    " not the one that was started for, or another job's lines are among these.",
                    size=size,
                ),
                call=call,
                evidence=(*(s.source for s in call.sides[:1]), told[0].source),
                urgent=True,
            )
            return


def _size(call: Call) -> int | None:
    """Ranks of a call of the default group, where all that issued it tell the same."""
    if call.group is None or not call.group.is_default or len(call.ops) != 1:
        return None
    sizes = {group_size(side.op, side.numel_in, side.numel_out) for side in call.sides}
    return sizes.pop() if len(sizes) == 1 else None
