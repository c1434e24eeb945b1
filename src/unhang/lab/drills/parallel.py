"""Faults in other kinds of parallelism than plain data parallelism under torchrun."""

from __future__ import annotations

from unhang.lab.drill import Drill, Launch
from unhang.lab.faults.declared import fault
from unhang.model.causes import Cause

DRILLS = (
    Drill(
        name="fsdp-asleep",
        summary="FSDP: rank 0 sleeps in its forward pass",
        faults=(fault("sleep", 0, function="forward", nth=6),),
        culprits=frozenset({0}),
        arguments=("--shard",),
    ),
    Drill(
        name="fsdp-gil-held",
        summary="FSDP: rank 1 computes in a native call that keeps the interpreter lock",
        faults=(fault("hold_gil", 1, step=5, options={"by": "sum"}),),
        culprits=frozenset({1}),
        arguments=("--shard",),
    ),
    Drill(
        name="fsdp-stopped",
        summary="FSDP: rank 3 is stopped by SIGSTOP",
        faults=(fault("stop", 3, step=6),),
        culprits=frozenset({3}),
        arguments=("--shard",),
    ),
    Drill(
        name="fsdp-exception",
        summary="FSDP: rank 2 raises an exception in its forward pass",
        faults=(fault("raise", 2, function="forward", nth=5),),
        cause=Cause.RANK_EXCEPTION,
        culprits=frozenset({2}),
        arguments=("--shard",),
    ),
    Drill(
        name="fsdp-extra-barrier",
        summary="FSDP: rank 0 alone enters a barrier between two steps",
        faults=(fault("extra_call", 0, step=6, options={"op": "barrier"}),),
        cause=Cause.DESYNC,
        culprits=frozenset({0}),
        accept=("uneven_work",),
        arguments=("--shard",),
    ),
    Drill(
        name="fsdp-slow-save",
        summary="FSDP: rank 0 saves for long",
        faults=(fault("work", 0, phase="save"),),
        cause=Cause.CHECKPOINT_SLOW,
        culprits=frozenset({0}),
        may_end=True,
        accept=("timeout_short",),
        arguments=("--shard",),
    ),
    Drill(
        name="pipeline-asleep",
        summary="pipeline: stage 2 of 0-3 sleeps before its forward pass",
        faults=(fault("sleep", 2, function="forth", nth=6),),
        culprits=frozenset({2}),
        script="stages.py",
    ),
    Drill(
        name="pipeline-skipped-send",
        summary="pipeline: stage 1 does not send its activations on",
        faults=(fault("skip_call", 1, call=12),),
        cause=Cause.DESYNC,
        culprits=frozenset({1}),
        script="stages.py",
    ),
    Drill(
        name="pipeline-killed",
        summary="pipeline: the last stage is killed by SIGKILL",
        faults=(fault("kill", 3, step=6),),
        culprits=frozenset({3}),
        accept=("external_stop", "rank_crash"),
        script="stages.py",
    ),
    Drill(
        name="mesh-asleep",
        summary="mesh of 2 x 2: rank 3 sleeps between two steps",
        faults=(fault("sleep", 3, step=6),),
        culprits=frozenset({3}),
        script="mesh.py",
    ),
    Drill(
        name="mesh-stopped",
        summary="mesh of 2 x 2: rank 0 is stopped by SIGSTOP",
        faults=(fault("stop", 0, step=5),),
        culprits=frozenset({0}),
        script="mesh.py",
    ),
    Drill(
        name="mesh-gil-held",
        summary="mesh of 2 x 2: rank 1 is caught in a regular expression that never ends",
        faults=(fault("hold_gil", 1, step=6, options={"by": "regex"}),),
        culprits=frozenset({1}),
        script="mesh.py",
    ),
    Drill(
        name="mesh-stray-broadcast",
        summary="mesh of 2 x 2: rank 1 broadcasts to all instead of reducing within its row",
        faults=(fault("other_call", 1, call=11),),
        cause=Cause.DESYNC,
        culprits=frozenset({1}),
        accept=("pg_deadlock",),
        script="mesh.py",
    ),
    Drill(
        name="spawn-asleep",
        summary="mp.spawn: rank 2 sleeps in its own code, between two steps",
        faults=(fault("sleep", 2, step=5),),
        culprits=frozenset({2}),
        launch=Launch.SPAWN,
    ),
    Drill(
        name="spawn-gil-held",
        summary="mp.spawn: rank 0 sleeps in a native call that keeps the interpreter lock",
        faults=(fault("hold_gil", 0, step=6),),
        culprits=frozenset({0}),
        launch=Launch.SPAWN,
    ),
    Drill(
        name="spawn-exception",
        summary="mp.spawn: rank 1 raises an exception in a step",
        faults=(fault("raise", 1, step=5),),
        cause=Cause.RANK_EXCEPTION,
        culprits=frozenset({1}),
        launch=Launch.SPAWN,
    ),
    Drill(
        name="spawn-killed",
        summary="mp.spawn: rank 3 is killed by SIGKILL",
        faults=(fault("kill", 3, step=5),),
        culprits=frozenset({3}),
        accept=("external_stop", "rank_crash"),
        launch=Launch.SPAWN,
    ),
)
"""In the order of the list."""
