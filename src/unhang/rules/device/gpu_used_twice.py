"""Two ranks of one communicator use the same GPU.

## What it finds
NCCL's "Duplicate GPU detected", or two ranks of a communicator with one PCI bus id on one host;
of versions that print none, with one of the driver's indices, where the host has several.

## Why it hangs
NCCL needs a GPU for each rank. Two ranks on one GPU are refused by recent versions and wait for
each other's kernels in older ones.

## When it stays quiet
The same GPU in different communicators of one process is normal.

## How to confirm
Print `os.environ["LOCAL_RANK"]`, `CUDA_VISIBLE_DEVICES` and `torch.cuda.current_device()` in every
process before the first collective.

## What to do
`torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before `init_process_group` or any CUDA call;
no more processes for each node than GPUs; under Ray or Slurm, let either the scheduler or the
program choose the device, not both. All that share are named, for nothing tells who is in place;
NCCL always names the lowest rank of a GPU: look at the others.

## References
NCCL `src/init.cc`; PyTorch documentation, `torchrun`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from unhang.model.events import CommunicatorStage, InitStage, NcclFailure, NcclReason
from unhang.model.events.base import Seen
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared import consequences, speakers


@rule(
    "DEV005",
    "gpu-used-by-two-ranks",
    cause=Cause.DEVICE_MAP,
    needs={Fact.NCCL_WARNINGS, Fact.NCCL_INFO},
    explains=consequences.OF_FAILED_HARDWARE,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all ranks that share a GPU."""
    told = speakers.nccl(incident, NcclReason.DUPLICATE_GPU)
    stages = () if told else _shared(incident)
    by_index = not told and not stages
    if by_index:
        stages = _of_one_index(incident)
    if not told and not stages:
        return
    found: Sequence[Seen] = told or stages
    ranks = _pairs(told) if told else _members(stages)
    yield check.finding(
        Strength.SUPPORTS if by_index else Strength.PROVES,
        claim=_claim(told, ranks),
        why=say(
            "DEV005.why",
            "NCCL needs one GPU for each rank; it always names the lowest rank of the pair.",
        ),
        culprits=_culprits(incident, told, ranks),
        culprit_hosts=speakers.minority_hosts(incident, found),
        at=found[0].at,
        evidence=found,
    )


def _claim(told: Sequence[NcclFailure], ranks: Ranks) -> Message:
    if len({event.ranks for event in told}) > 1:
        return say("DEV005.claim_several", "{ranks:ranks} share GPUs among each other", ranks=ranks)
    return say("DEV005.claim", "{ranks:ranks} use the same GPU", ranks=ranks)


def _pairs(told: Sequence[NcclFailure]) -> Ranks:
    return frozenset(r for e in told for r in e.ranks)


def _members(stages: Sequence[CommunicatorStage]) -> Ranks:
    return frozenset(Rank(s.comm_rank) for s in stages if s.comm_rank is not None)


def _culprits(incident: Incident, told: Sequence[NcclFailure], ranks: Ranks) -> Ranks:
    """All that share a GPU, for nothing tells which of them is in its place.

    Nobody where a speaker is none of those that it names: they are numbers of a sub-group.
    """
    for event in told:
        speaker = speakers.rank_of(incident, event)
        if speaker is not None and speaker not in event.ranks:
            return NO_RANKS
    return ranks if told else NO_RANKS


def _shared(incident: Incident) -> list[CommunicatorStage]:
    """Starts of different ranks of one communicator on one GPU."""
    users = defaultdict(list)
    for stage in incident.all(CommunicatorStage):
        known = stage.comm_id is not None and stage.bus_id is not None
        if known and stage.stage is InitStage.START and stage.origin.host is not None:
            users[stage.comm_id, stage.origin.host, stage.bus_id].append(stage)
    shared = [s for s in users.values() if len({stage.comm_rank for stage in s}) > 1]
    return [stage for stages in shared for stage in stages]


def _of_one_index(incident: Incident) -> list[CommunicatorStage]:
    """The same by the driver's index, before NCCL printed bus ids and names of communicators.

    Containers that share the name of their host count their GPUs anew: all of them from 0 on.
    """
    users = defaultdict(list)
    indices = defaultdict(set)
    for stage in incident.all(CommunicatorStage):
        named = stage.nvml is not None and stage.origin.host is not None and stage.size is not None
        if named and stage.bus_id is None and stage.stage in (InitStage.START, InitStage.COMPLETE):
            users[stage.size, stage.origin.host, stage.nvml].append(stage)
            indices[stage.origin.host].add(stage.nvml)
    return [
        stage
        for (_, host, _), stages in users.items()
        if len(indices[host]) > 1
        and len({s.comm_rank for s in stages}) > 1
        and len({s.origin.pid for s in stages}) > 1
        for stage in stages
    ]
