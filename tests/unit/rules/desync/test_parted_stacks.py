"""Stacks of ranks that took different ways: out of a loop, or apart after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.api import diagnose
from unhang.model.causes import Cause

_TORCH = "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"


def _stack(rank: int, *frames: str) -> str:
    lines = [
        f"Process {700 + rank}: python fit.py  (RANK={rank})",
        "Python v3.11.8 (/v/bin/python3.11)",
        f'Thread {700 + rank} (idle): "MainThread"',
        *(f"    {frame}" for frame in frames),
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("within", "cause"),
    [
        ("training_step (fit.py:41)", Cause.UNEVEN_WORK),
        # What trainers call when an epoch is over: this rank has left the loop as well.
        ("on_train_epoch_end (fit.py:71)", Cause.DESYNC),
    ],
)
def test_who_stands_in_the_hook_of_an_end_is_in_no_loop(
    within: str, cause: Cause, tmp_path: Path
) -> None:
    here = (f"all_reduce ({_TORCH}:2050)", "sync (fit.py:12)", within, "advance (loop.py:387)")
    there = (f"barrier ({_TORCH}:3685)", "finish (fit.py:90)", "advance (loop.py:402)")
    (tmp_path / "stacks.txt").write_text(_stack(0, *here) + _stack(1, *there))
    assert diagnose(str(tmp_path)).cause is cause
