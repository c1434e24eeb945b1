"""Ranks that do not issue the same collectives."""

from __future__ import annotations

from unhang.lab.drill import Drill
from unhang.lab.faults.declared import fault
from unhang.model.causes import Cause

DRILLS = (
    Drill(
        name="skipped-call",
        summary="rank 2 leaves one all_reduce out",
        faults=(fault("skip_call", 2, call=6),),
        cause=Cause.DESYNC,
        culprits=frozenset({2}),
    ),
    Drill(
        name="extra-call",
        summary="rank 1 issues one all_reduce more than the others",
        faults=(fault("extra_call", 1, step=5),),
        cause=Cause.DESYNC,
        culprits=frozenset({1}),
    ),
    Drill(
        name="wrong-size",
        summary="rank 3 reduces a tensor of another size",
        faults=(fault("wrong_size", 3, call=6),),
        cause=Cause.DESYNC,
        culprits=frozenset({3}),
    ),
    Drill(
        name="wrong-dtype",
        summary="rank 0 reduces a tensor of another type",
        faults=(fault("wrong_dtype", 0, call=6),),
        cause=Cause.DESYNC,
        culprits=frozenset({0}),
    ),
    Drill(
        name="other-call",
        summary="rank 2 broadcasts where the others reduce",
        faults=(fault("other_call", 2, call=6),),
        cause=Cause.DESYNC,
        culprits=frozenset({2}),
    ),
    Drill(
        name="swapped-calls",
        summary="rank 2 reduces before it gathers, and the others the other way round",
        faults=(fault("swap_calls", 2, call=9),),
        cause=Cause.DESYNC,
        culprits=frozenset({2}),
        arguments=("--count-tokens",),
    ),
    Drill(
        name="opposite-order",
        summary="rank 1 uses two groups in the opposite order: each waits for the other",
        faults=(fault("swap_calls", 1, call=9),),
        cause=Cause.PG_DEADLOCK,
        culprits=frozenset({1}),
        accept=("desync",),
        arguments=("--groups", "2"),
    ),
    Drill(
        name="conditional-branch",
        summary="rank 3 does not use a part of the model in one step",
        faults=(fault("unused_parameters", 3, step=5),),
        cause=Cause.MODEL_DIVERGENCE,
        culprits=frozenset({3}),
        accept=("desync",),  # its next call meets the gradients of the others
    ),
    Drill(
        name="unused-parameters",
        summary="rank 1 does not use a part of the model; its next collective is the next step's",
        faults=(fault("unused_parameters", 1, step=5),),
        cause=Cause.MODEL_DIVERGENCE,
        culprits=frozenset({1}),
        arguments=("--groups", "0"),
    ),
    Drill(
        name="uneven-batches",
        summary="rank 2 has fewer batches than the others",
        faults=(fault("fewer_batches", 2, step=6),),
        cause=Cause.UNEVEN_WORK,
        culprits=frozenset({2}),
        accept=("desync",),
    ),
    Drill(
        name="extra-barrier",
        summary="rank 0 alone enters a barrier, as a rank-0-only branch does",
        faults=(fault("extra_call", 0, step=6, options={"op": "barrier"}),),
        cause=Cause.DESYNC,
        culprits=frozenset({0}),
        accept=("uneven_work",),  # a rank that left its loop stands in such a barrier too
    ),
    Drill(
        name="other-call-first",
        summary="rank 1 makes another call than the others in the very first round",
        faults=(fault("other_call", 1, call=1),),
        cause=Cause.DESYNC,
        culprits=frozenset({1}),
        script="collectives.py",
    ),
    Drill(
        name="swapped-rounds",
        summary="rank 3 gathers before it reduces, and the others the other way round",
        faults=(fault("swap_calls", 3, call=13),),
        cause=Cause.DESYNC,
        culprits=frozenset({3}),
        script="collectives.py",
    ),
)
"""In the order of the list."""
