"""Ranks that do not get on while the others wait for them."""

from __future__ import annotations

from unhang.lab.drill import Drill
from unhang.lab.faults.declared import fault
from unhang.model.phases import Phase

DRILLS = (
    Drill(
        name="sleep",
        summary="rank 2 sleeps in its own code, between two steps",
        faults=(fault("sleep", 2, step=5),),
        culprits=frozenset({2}),
    ),
    Drill(
        name="spin",
        summary="rank 1 runs in an endless loop of Python",
        faults=(fault("spin", 1, step=6),),
        culprits=frozenset({1}),
        may_end=True,  # from outside it looks like any long computation
    ),
    Drill(
        name="gil-held-asleep",
        summary="rank 3 sleeps in a native call that keeps the interpreter lock",
        faults=(fault("hold_gil", 3, step=4),),
        culprits=frozenset({3}),
    ),
    Drill(
        name="gil-held-busy",
        summary="rank 0 computes in a native call that keeps the interpreter lock",
        faults=(fault("hold_gil", 0, step=7, options={"by": "sum"}),),
        culprits=frozenset({0}),
    ),
    Drill(
        name="gil-held-by-regex",
        summary="rank 2 is caught in a regular expression that never ends",
        faults=(fault("hold_gil", 2, step=5, options={"by": "regex"}),),
        culprits=frozenset({2}),
    ),
    Drill(
        name="native-hang",
        summary="rank 1 hangs in a native call that gave the interpreter lock back",
        faults=(fault("native_hang", 1, step=5),),
        culprits=frozenset({1}),
    ),
    Drill(
        name="lock",
        summary="rank 3 waits for a lock that nobody gives back",
        faults=(fault("lock", 3, step=5),),
        culprits=frozenset({3}),
    ),
    Drill(
        name="stopped",
        summary="rank 1 is stopped by SIGSTOP",
        faults=(fault("stop", 1, step=5),),
        culprits=frozenset({1}),
    ),
    Drill(
        name="sleep-in-forward",
        summary="rank 0 sleeps in its forward pass",
        faults=(fault("sleep", 0, function="forward", nth=6),),
        culprits=frozenset({0}),
    ),
    Drill(
        name="lock-in-backward",
        summary="rank 3 waits for a lock in its backward pass, in a hook of a gradient",
        faults=(fault("lock", 3, function="damp_gradient", nth=5),),
        culprits=frozenset({3}),
    ),
    Drill(
        name="native-hang-in-schedule",
        summary="rank 1 hangs in native code while it sets its learning rate",
        faults=(fault("native_hang", 1, function="warm_up", nth=7),),
        culprits=frozenset({1}),
    ),
    Drill(
        name="stopped-in-evaluation",
        summary="rank 3 is stopped by SIGSTOP while it evaluates",
        faults=(fault("stop", 3, phase="eval"),),
        culprits=frozenset({3}),
        accept=("eval_slow",),  # what is left of it shows an evaluation that does not end
    ),
    Drill(
        name="gil-held-in-save",
        summary="rank 0 keeps the interpreter lock in native code while it saves",
        faults=(fault("hold_gil", 0, phase="save"),),
        culprits=frozenset({0}),
        phase=Phase.SAVE,
        accept=("checkpoint_slow",),
    ),
    Drill(
        name="stuck-open",
        summary="rank 0 opens a file that does not come, between two steps",
        faults=(fault("pipe", 0, step=6),),
        culprits=frozenset({0}),
        may_end=True,
    ),
    Drill(
        name="stuck-child",
        summary="rank 2 waits for a program that does not end, between two steps",
        faults=(fault("child", 2, step=4),),
        culprits=frozenset({2}),
        may_end=True,
    ),
    Drill(
        name="two-asleep",
        summary="ranks 1 and 3 sleep in their own code, between two steps",
        faults=(fault("sleep", 1, 3, step=5),),
        culprits=frozenset({1, 3}),
    ),
    Drill(
        name="two-stopped",
        summary="ranks 0 and 2 are stopped by SIGSTOP",
        faults=(fault("stop", 0, 2, step=6),),
        culprits=frozenset({0, 2}),
    ),
    Drill(
        name="asleep-before-groups",
        summary="rank 1 sleeps before it makes its process group",
        faults=(fault("sleep", 1, function="options"),),
        culprits=frozenset({1}),
        phase=Phase.INIT,
        accept=("rendezvous",),
        may_end=True,
    ),
    Drill(
        name="absent-from-first-call",
        summary="rank 3 sleeps before the first collective; no other call was made",
        faults=(fault("sleep", 3, function="one_round"),),
        culprits=frozenset({3}),
        script="collectives.py",
    ),
)
"""In the order of the list."""
