"""Ranks that end while the others go on."""

from __future__ import annotations

from unhang.lab.drill import Drill
from unhang.lab.faults.declared import fault
from unhang.model.causes import Cause

_NO_MEMORY = {"type": "MemoryError", "message": "a batch of 3 TiB"}
_NO_FILE = {"type": "FileNotFoundError", "message": "/data/tokens.bin"}

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
    Drill(
        name="exits-with-a-code",
        summary="rank 0 ends with exit code 3 and says nothing",
        faults=(fault("exit", 0, step=7, options={"code": 3}),),
        culprits=frozenset({0}),
        accept=("rank_crash",),
    ),
    Drill(
        name="corrupt-memory",
        summary="native code of rank 2 corrupts its memory: the C library aborts it",
        faults=(fault("corrupt_memory", 2, step=6),),
        culprits=frozenset({2}),
        accept=("rank_crash",),
    ),
    Drill(
        name="two-exceptions",
        summary="ranks 1 and 2 raise the same exception in one step",
        faults=(fault("raise", 1, 2, step=5),),
        cause=Cause.RANK_EXCEPTION,
        culprits=frozenset({1, 2}),
    ),
    Drill(
        name="exception-in-evaluation",
        summary="rank 1 raises an exception while it evaluates",
        faults=(fault("raise", 1, phase="eval", options=_NO_MEMORY),),
        cause=Cause.RANK_EXCEPTION,
        culprits=frozenset({1}),
        accept=("host_oom",),
    ),
    Drill(
        name="exception-before-groups",
        summary="rank 3 raises an exception before it makes its process group",
        faults=(fault("raise", 3, function="options", options=_NO_FILE),),
        cause=Cause.RANK_EXCEPTION,
        culprits=frozenset({3}),
    ),
    Drill(
        name="killed-in-save",
        summary="rank 0 is killed by SIGKILL while it saves",
        faults=(fault("kill", 0, phase="save"),),
        culprits=frozenset({0}),
        accept=("external_stop", "rank_crash"),
    ),
    Drill(
        name="killed-worker",
        summary="the process that loads the data of rank 2 is killed by SIGKILL",
        faults=(fault("kill", 2, phase="data", nth=5),),
        cause=Cause.RANK_EXCEPTION,
        culprits=frozenset({2}),
        accept=("host_oom",),  # the usual reason for it
        arguments=("--workers", "1"),
    ),
)
"""In the order of the list."""
