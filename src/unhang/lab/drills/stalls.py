"""Ranks that do not get on while the others wait for them."""

from __future__ import annotations

from unhang.lab.drill import Drill
from unhang.lab.faults.declared import fault

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
)
"""In the order of the list."""
