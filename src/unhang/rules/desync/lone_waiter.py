"""Only rank 0 waits in a gather, after the work was done and the others have left.

## What it finds
Training is complete, one single rank, rank 0, times out in a gather, and the launcher reports no
other process.

## Why it hangs
A gather needs all ranks. Called for rank 0 only (saving a sharded model inside `if rank == 0:`),
it waits for ranks that have finished and left.

## When it stays quiet
When any other rank waits, failed or was ended by the launcher, when work was still under way, and
for one-element calls (barriers), where rank 0 may rightly wait for somebody else. Without the
launcher's report it is a hint: the other ranks' logs may be missing.

## How to confirm
The stack of rank 0 is in a save; the other processes have ended with exit code 0.

## What to do
Call the save on all ranks and let the library choose who writes (`trainer.save_model()` on every
rank; `state_dict` outside of the branch).

## References
`torch.distributed.fsdp.FullyShardedDataParallel.state_dict_type`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import ClosingSignal, Finished, ProcessEnded, Progress
from unhang.model.ids import Rank
from unhang.model.incident import Join
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Status, Strength, rule, say
from unhang.rules.shared import consequences, order, rivals

_GATHERS = frozenset({"_ALLGATHER_BASE", "ALLGATHER", "ALLGATHER_COALESCED", "GATHER"})


@rule(
    "DSY012",
    "rank-0-gathers-alone-after-the-end",
    cause=Cause.DESYNC,
    needs={Fact.TIMEOUTS},
    status=Status.PREVIEW,
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield a finding when rank 0 alone waits after the end of training."""
    alone = incident.gave_up == {Rank(0)} and not incident.gave_up_unnamed
    if not alone or len(incident.calls) != 1:
        return
    call = incident.calls[0]
    join = call.joins[Rank(0)]
    if join.op not in _GATHERS or join.numel_in == 1 or not _is_done(incident, join):
        return
    if any(f.rank != Rank(0) and f.rank is not None for f in incident.failures):
        return
    if incident.all(ClosingSignal):
        return
    reported = len(incident.all(ProcessEnded)) > 0
    weight = rivals.weigh(incident, join, Strength.SUPPORTS if reported else Strength.HINTS)
    yield check.finding(
        weight.strength,
        claim=say(
            "DSY012.claim", "Only rank 0 waits, in {op:ops}, after the work was done.", op=join.op
        ),
        why=say(
            "DSY012.why",
            "A gather needs all ranks; the others have finished and exited, so rank 0 issued it"
            " alone.",
        ),
        against=weight.against,
        culprits=frozenset({Rank(0)}),
        phase=Phase.SAVE,
        at=join.at,
        call=call,
        evidence=[join],
    )


def _is_done(incident: Incident, join: Join) -> bool:
    """Whether the last thing known of the work is that it was complete."""
    if any(order.is_before(e, join) for e in incident.all(Finished)):
        return True
    bars = [p for p in incident.all(Progress) if order.is_before(p, join)]
    if not bars or bars[-1].total is None:
        return False
    return bars[-1].done >= bars[-1].total and bars[-1].phase in (None, Phase.TRAIN)
