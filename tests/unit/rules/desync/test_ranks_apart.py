"""DSY018: ranks that are apart by all that they printed."""

from pathlib import Path

import pytest

from unhang.api import diagnose
from unhang.model.causes import Cause
from unhang.model.diagnosis import Outcome


def steps(rank: int, count: int) -> str:
    return "".join(f"step {n} loss 1.{n}{rank}\n" for n in range(count))


def write(folder: Path, total: int, end: str, later: str = "") -> None:
    for rank in range(3):
        told = f"shard {rank}: {total if rank == 2 else 90} batches\n{steps(rank, 8)}"
        (folder / f"w{rank}.out").write_text(told + (end if rank == 2 else later), encoding="utf-8")


def test_who_had_less_to_do_and_ended(tmp_path: Path) -> None:
    write(tmp_path, 88, "epoch 1 finished, going to evaluate\n")
    found = diagnose(tmp_path)
    assert (found.cause, set(found.culprits)) == (Cause.UNEVEN_WORK, {2})


@pytest.mark.parametrize(
    ("total", "end", "later"),
    [
        (90, "epoch 1 finished, going to evaluate\n", ""),
        (88, "", ""),
        (88, "epoch 1 finished\n", "epoch 1 finished\n"),
        (88, "epoch 1 finished\nstep 9 loss 1.1\n", ""),
    ],
)
def test_what_shows_no_wait(tmp_path: Path, total: int, end: str, later: str) -> None:
    write(tmp_path, total, end, later)
    assert diagnose(tmp_path).outcome is not Outcome.CAUSE


def test_the_error_of_one_that_shuts_down_is_heard(tmp_path: Path) -> None:
    """Its stack alone looks as if it had come to its end."""
    ends = "    _wait_for_tstate_lock (threading.py:1116)\n    _shutdown (threading.py:1576)\n"
    waits = "    all_reduce (torch/distributed/distributed_c10d.py:1446)\n    fit (fit.py:9)\n"
    stacks = "".join(
        f'Process {pid}: python fit.py --rank {rank}\nThread {pid} (idle): "MainThread"\n{frames}\n'
        for rank, (pid, frames) in enumerate(((40, waits), (41, waits), (42, ends)))
    )
    (tmp_path / "stacks.txt").write_text(stacks, encoding="utf-8")
    assert diagnose(tmp_path).cause is Cause.UNEVEN_WORK
    error = 'Traceback (most recent call last):\n  File "/job/fit.py", line 9, in fit\n    go()\n'
    (tmp_path / "errors.2").write_text(f"{error}ValueError: bad shape\n", encoding="utf-8")
    assert diagnose(tmp_path).cause is Cause.RANK_EXCEPTION
