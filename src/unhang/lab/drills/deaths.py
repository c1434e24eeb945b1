"""Ranks that end while the others go on."""

from __future__ import annotations

from unhang.lab.drill import Drill
from unhang.lab.faults.declared import fault
from unhang.model.causes import Cause

DRILLS = (
    Drill(
        name="exception",
        summary="rank 2 raises an exception in a step",
        faults=(fault("raise", 2, step=5),),
        cause=Cause.RANK_EXCEPTION,
        culprits=frozenset({2}),
    ),
    Drill(
        name="killed",
        summary="rank 1 is killed by SIGKILL, and nothing says by whom",
        faults=(fault("kill", 1, step=5),),
        culprits=frozenset({1}),
        accept=("external_stop", "rank_crash"),
    ),
    Drill(
        name="segfault",
        summary="rank 3 reads at address 0",
        faults=(fault("segfault", 3, step=5),),
        cause=Cause.RANK_CRASH,
        culprits=frozenset({3}),
    ),
    Drill(
        name="host-oom",
        summary="rank 1 uses more memory than its control group has: the kernel kills it",
        faults=(fault("host_oom", 1, step=5),),
        cause=Cause.HOST_OOM,
        culprits=frozenset({1}),
    ),
    Drill(
        name="memory-limit",
        summary="rank 2 is refused memory by the limit of its address space",
        faults=(fault("memory_limit", 2, step=5),),
        cause=Cause.HOST_OOM,
        culprits=frozenset({2}),
        accept=("rank_exception",),
    ),
    Drill(
        name="exits-early",
        summary="rank 3 ends with exit code 0 and says nothing",
        faults=(fault("exit", 3, step=5),),
        culprits=frozenset({3}),
        accept=("rank_crash", "uneven_work"),
    ),
)
"""In the order of the list."""
