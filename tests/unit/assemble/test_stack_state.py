"""What one stack says: a collective that pickles an object works, and does not wait."""

from __future__ import annotations

import pytest

from unhang.assemble.stack_state import read_stack
from unhang.model.events import Frame, StackKind, ThreadStack
from unhang.model.provenance import NOBODY, Provenance
from unhang.model.stack_states import Doing

C10D = "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
MAIN = ("/home/ann/fit.py", "main")
CALL = (C10D, "broadcast_object_list")
PICKLE = (C10D, "_object_to_tensor")


@pytest.mark.parametrize(
    ("inner", "doing"),
    [
        ((CALL,), Doing.WAITS),
        ((CALL, (C10D, "broadcast")), Doing.WAITS),
        ((CALL, PICKLE), Doing.CODE),
        ((CALL, PICKLE, ("/home/ann/shard.py", "__reduce__")), Doing.CODE),
    ],
)
def test_who_pickles_for_a_call_does_not_wait_in_it(
    inner: tuple[tuple[str, str], ...], doing: Doing
) -> None:
    frames = tuple(Frame(file=f, line=7, function=name) for f, name in (MAIN, *inner))
    stack = ThreadStack(
        kind=StackKind.PYTHON,
        frames=frames,
        main=True,
        source=Provenance(artifact="", line=None, text=""),
        origin=NOBODY,
    )
    assert read_stack(stack).doing is doing
