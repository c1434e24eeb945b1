"""Allocations that failed, were caught, and threw the ranks out of step all the same."""

from __future__ import annotations

from pathlib import Path

import unhang
from unhang.model.causes import Cause

STEP = "2026-11-06 22:5{n}:02 | INFO | train_inner | epoch 002:   4{n}00 / 21194 loss=3.301"
CAUGHT = (
    "2026-11-06 22:56:35 | WARNING | lab.trainer | ran out of memory with exception: "
    "CUDA out of memory. Tried to allocate 28.00 MiB (GPU 1; 10.92 GiB total capacity)"
)
APART = """Traceback (most recent call last):
  File "/job/train.py", line 3, in main
    x
RuntimeError: the lists have different lengths across workers
"""


def judged(tmp_path: Path, *lines: str) -> Cause | None:
    log = tmp_path / "job.log"
    log.write_text("\n".join(lines))
    return unhang.diagnose(str(log)).cause


def test_a_caught_failure_right_before_the_ranks_come_apart(tmp_path: Path) -> None:
    steps = [STEP.format(n=n) for n in range(4)]
    assert judged(tmp_path, *steps, CAUGHT, APART) is Cause.GPU_OOM


def test_work_in_between_clears_it(tmp_path: Path) -> None:
    steps = [STEP.format(n=n) for n in range(9)]
    assert judged(tmp_path, CAUGHT, *steps, APART) is Cause.UNEVEN_WORK


def test_caught_and_nothing_after(tmp_path: Path) -> None:
    assert judged(tmp_path, STEP.format(n=1), CAUGHT) is None


def test_caught_and_ended_by_hand_after_a_silence(tmp_path: Path) -> None:
    steps = [STEP.format(n=n) for n in range(4)]
    ended = '^CTraceback (most recent call last):\n  File "/job/train.py", line 3, in main\n    x'
    assert judged(tmp_path, *steps, CAUGHT, ended, "KeyboardInterrupt") is Cause.GPU_OOM
    earlier = CAUGHT.replace("22:56", "22:49")
    assert judged(tmp_path, earlier, *steps, ended, "KeyboardInterrupt") is not Cause.GPU_OOM
