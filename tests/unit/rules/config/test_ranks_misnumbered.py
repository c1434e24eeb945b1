"""Announcements of ranks that do not add up, and what may follow them."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.api import diagnose
from unhang.model.causes import Cause

_CANCELLED = "slurmstepd: error: *** STEP 77.0 ON n1 CANCELLED AT 2024-05-01T10:00:00 ***"
_STEPS = [f"Epoch 0: {n}%|#| {n}/100 [00:{n:02d}<00:09, 1.00it/s]" for n in (10, 20, 30, 40)]


@pytest.mark.parametrize(
    ("ranks", "later", "cause"),
    [
        ((0, 1, 0, 1), (_CANCELLED,), Cause.RENDEZVOUS),
        ((0, 1), (_CANCELLED,), None),  # the others may be in a log of their own
        ((0, 1, 0, 1), (*_STEPS, _CANCELLED), Cause.EXTERNAL_STOP),
    ],
)
def test_a_stop_ends_the_wait_of_ranks_that_came_twice(
    ranks: tuple[int, ...], later: tuple[str, ...], cause: Cause | None, tmp_path: Path
) -> None:
    told = [f"initializing ddp: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/4" for rank in ranks]
    (tmp_path / "job.out").write_text("\n".join((*told, *later)) + "\n")
    found = diagnose(str(tmp_path / "job.out"))
    assert (found.cause is Cause.RENDEZVOUS) is (cause is Cause.RENDEZVOUS)
    assert not found.culprits
