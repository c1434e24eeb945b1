"""Who waits for whom by logs and by NCCL's RAS, and what several witnesses tell together."""

from __future__ import annotations

from support.job_text import incident_of
from unhang.model.waits import WitnessKind, ranks_of_ends
from unhang.verdict.rule_results import judge

TIMED_OUT = (
    "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
    "OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600500 milliseconds "
    "before timing out."
)
NAMELESS = TIMED_OUT.replace("[Rank {rank}] ", "")
STACK = 'Thread 0x01 (idle): "MainThread"\n{frames}\n    main (train.py:40)\n'
BARRIER = "    barrier (torch/distributed/distributed_c10d.py:5356)"
SAVE = "    save (torch/serialization.py:900)\n    save_checkpoint (train.py:20)"


def test_who_gave_up_under_no_name_is_a_count_and_no_rank() -> None:
    incident = incident_of("\n".join([TIMED_OUT.format(rank=0), NAMELESS]))
    (call,) = incident.calls
    assert (sorted(call.joined), len(call.unnamed), len(call.sides)) == ([0], 1, 2)
    (wait,) = incident.analysis(WitnessKind.LOG).waits
    assert (sorted(wait.waiters), wait.unnamed, wait.limit_s) == ([0], 1, 600.0)


def test_a_rank_that_gave_up_by_the_log_and_is_elsewhere_by_its_stack_is_told() -> None:
    log = "\n".join(TIMED_OUT.format(rank=rank) for rank in (0, 1, 2))
    stacks = {f"rank{r}.txt": STACK.format(frames=BARRIER) for r in (0, 1, 3)}
    incident = incident_of(log, **stacks, **{"rank2.txt": STACK.format(frames=SAVE)})
    assert ranks_of_ends(incident.analysis(WitnessKind.STACK).ends) == {2}
    (contradiction,) = incident.waits.contradictions
    assert sorted(contradiction.ranks) == [2]
    assert contradiction.waiting.kind is WitnessKind.LOG
    told = {f.rule: f.against for f in judge(incident).findings}
    assert told["LOC201"] is not None
    assert told["LOC201"].key == "stacks.against_log"


def test_a_monitored_barrier_and_a_key_of_the_store_are_waits() -> None:
    barrier = incident_of("[Rank 0]: Rank 2 failed to pass monitoredBarrier in 3000 ms")
    (wait,) = barrier.analysis(WitnessKind.LOG).waits
    assert (sorted(wait.waiters), sorted(wait.awaited), wait.limit_s) == ([0], [2], 3.0)
    store = incident_of(
        "torch.distributed.DistBackendError: [5] is setting up NCCL communicator and retrieving "
        "ncclUniqueId from [0] via c10d key-value store by store->get('0'), but store->get('0') "
        "got error: Socket Timeout"
    )
    assert ranks_of_ends(store.waits.ends) == {0}
