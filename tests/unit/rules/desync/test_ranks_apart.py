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
