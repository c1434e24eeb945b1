"""Jobs that look ill for a while and are not: nobody may be called guilty."""

from __future__ import annotations

from unhang.lab.drill import Drill, Launch, Need
from unhang.lab.faults.declared import fault

_PATIENT_S = 120.0

DRILLS = (
    Drill(
        name="healthy",
        summary="nothing happens",
        faults=(),
        finishes=True,
    ),
    Drill(
        name="long-save",
        summary="rank 0 saves for 20 s to slow storage, within the limit",
        faults=(fault("slow_disk", 0, phase="save", options={"bytes_per_s": 18_000}),),
        finishes=True,
        limit_s=_PATIENT_S,
        arguments=("--steps", "16"),
    ),
    Drill(
        name="eval-on-rank-0",
        summary="rank 0 evaluates for 15 s while the others wait in the next step",
        faults=(fault("work", 0, phase="eval", options={"for_s": 15}),),
        finishes=True,
        limit_s=_PATIENT_S,
        arguments=("--eval-on", "rank0", "--steps", "16"),
    ),
    Drill(
        name="tokenise-first",
        summary="rank 1 tokenises for 15 s before the first step",
        faults=(fault("work", 1, function="encode_documents", options={"for_s": 15}),),
        finishes=True,
        limit_s=_PATIENT_S,
        arguments=("--steps", "16"),
    ),
    Drill(
        name="compile-on-one",
        summary="rank 1 compiles for more than 15 s, and the other does not compile",
        faults=(fault("work", 1, phase="compile", options={"for_s": 15}),),
        finishes=True,
        world=2,
        limit_s=_PATIENT_S,
        arguments=("--compile-on", "1", "--steps", "16"),
        needs=frozenset({Need.COMPILER}),
    ),
    Drill(
        name="all-stopped",
        summary="all ranks are stopped for 8 s and go on, as on a suspended node",
        faults=(fault("stop", step=5, options={"for_s": 8}),),
        finishes=True,
        limit_s=_PATIENT_S,
        arguments=("--steps", "16"),
    ),
    Drill(
        name="straggler",
        summary="rank 2 is 0.6 s slower in each step, and makes progress",
        faults=(fault("sleep", 2, step=3, options={"for_s": 0.6, "repeat": True}),),
        finishes=True,
        limit_s=_PATIENT_S,
        arguments=("--steps", "24"),
    ),
    Drill(
        name="late-batch",
        summary="rank 3 waits once for 14 s for a batch that its loader's process prepares",
        faults=(fault("work", 3, phase="data", nth=6, options={"for_s": 14}),),
        finishes=True,
        limit_s=_PATIENT_S,
        arguments=("--workers", "1", "--steps", "16"),
    ),
    Drill(
        name="slow-stage",
        summary="pipeline: stage 1 is 0.5 s slower in each step, and makes progress",
        faults=(fault("sleep", 1, step=3, options={"for_s": 0.5, "repeat": True}),),
        finishes=True,
        limit_s=_PATIENT_S,
        script="stages.py",
        arguments=("--steps", "30"),
    ),
    Drill(
        name="fsdp-evaluation",
        summary="FSDP: rank 2 takes 12 s longer than the others to evaluate",
        faults=(fault("work", 2, phase="eval", options={"for_s": 12}),),
        finishes=True,
        limit_s=_PATIENT_S,
        arguments=("--shard", "--steps", "16"),
    ),
    Drill(
        name="spawn-healthy",
        summary="mp.spawn: nothing happens",
        faults=(),
        finishes=True,
        launch=Launch.SPAWN,
    ),
)
"""In the order of the list."""
