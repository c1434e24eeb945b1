"""Work on some ranks that outlasts the time limit of the others."""

from __future__ import annotations

from unhang.lab.drill import Drill, Need
from unhang.lab.faults.declared import fault
from unhang.model.causes import Cause
from unhang.model.phases import Phase

DRILLS = (
    Drill(
        name="slow-save",
        summary="rank 0 saves to storage that takes 8 kB a second",
        faults=(fault("slow_disk", 0, phase="save", options={"bytes_per_s": 8192}),),
        cause=Cause.CHECKPOINT_SLOW,
        culprits=frozenset({0}),
        may_end=True,
        phase=Phase.SAVE,
        accept=("timeout_short",),
    ),
    Drill(
        name="stuck-save",
        summary="rank 0 waits for storage that does not answer while it saves",
        faults=(fault("sleep", 0, phase="save"),),
        cause=Cause.CHECKPOINT_SLOW,
        culprits=frozenset({0}),
        may_end=True,
        phase=Phase.SAVE,
        accept=("timeout_short",),
    ),
    Drill(
        name="slow-eval",
        summary="rank 0 evaluates for long while the others go on to the next step",
        faults=(fault("work", 0, phase="eval"),),
        cause=Cause.EVAL_SLOW,
        culprits=frozenset({0}),
        may_end=True,
        phase=Phase.EVAL,
        accept=("timeout_short",),
        arguments=("--eval-on", "rank0"),
    ),
    Drill(
        name="slow-tokenise",
        summary="rank 1 tokenises for long before the first step",
        faults=(fault("work", 1, function="encode_documents"),),
        cause=Cause.DATA_SLOW,
        culprits=frozenset({1}),
        may_end=True,
        phase=Phase.DATA,
        accept=("timeout_short",),
    ),
    Drill(
        name="slow-loader",
        summary="rank 3 waits for a sample of its data set",
        faults=(fault("sleep", 3, phase="data", nth=5),),
        cause=Cause.DATA_SLOW,
        culprits=frozenset({3}),
        may_end=True,
        phase=Phase.DATA,
        accept=("timeout_short",),
    ),
    Drill(
        name="slow-compile",
        summary="rank 1 compiles the model for long",
        faults=(fault("work", 1, phase="compile"),),
        cause=Cause.COMPILE_SLOW,
        culprits=frozenset({1}),
        may_end=True,
        phase=Phase.COMPILE,
        accept=("timeout_short",),
        world=2,
        arguments=("--compile-on", "1"),
        needs=frozenset({Need.COMPILER}),
    ),
    Drill(
        name="stuck-worker",
        summary="the process that loads the data of rank 1 waits for its storage",
        faults=(fault("sleep", 1, phase="data", nth=5),),
        cause=Cause.DATA_SLOW,
        culprits=frozenset({1}),
        may_end=True,
        phase=Phase.DATA,
        accept=("timeout_short",),
        arguments=("--workers", "1"),
    ),
    Drill(
        name="full-disk",
        summary="the disk of the checkpoints is full when rank 0 saves",
        faults=(fault("fill_disk", 0, phase="save", options={"path": "checkpoints"}),),
        cause=Cause.RANK_EXCEPTION,
        culprits=frozenset({0}),
        small_disk=True,
        arguments=("--width", "1024"),
    ),
)
"""In the order of the list."""
