"""What is no good end of a job, though its log tells that the work is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.api import diagnose
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.reporters import terminal

_BARS = [f"Epoch 0: {n}%|#| {n}/100 [00:{n // 2:02d}<00:09, 2.00it/s]" for n in (50, 75, 100)]
_DONE = "`Trainer.fit` stopped: `max_epochs=1` reached."


def _judged(folder: Path, *later: str) -> Diagnosis:
    (folder / "job.log").write_text("\n".join((*_BARS, _DONE, *later)) + "\n")
    return diagnose(str(folder / "job.log"))


@pytest.mark.parametrize(
    ("later", "outcome"),
    [
        ((), Outcome.HEALTHY),
        (("Loading best model from /o/c-70 (score: 0.9).",), Outcome.UNDETERMINED),
        (("Loading best model from /o/c-70 (score: 0.9).", "Training completed."), Outcome.HEALTHY),
        (("Saving model checkpoint to /o/final",), Outcome.HEALTHY),  # may be the last work
    ],
)
def test_a_part_that_is_done_is_no_end_where_the_next_began(
    later: tuple[str, ...], outcome: Outcome, tmp_path: Path
) -> None:
    assert _judged(tmp_path, *later).outcome is outcome


def test_who_does_not_leave_has_not_ended_well(tmp_path: Path) -> None:
    stuck = [
        f"[rank{rank}]:[E418 21:23:31.767 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID "
        f"0(default_pg) Rank {rank}] ProcessGroupNCCL's watchdog got stuck for 480 seconds without "
        "making progress in monitoring enqueued collectives."
        for rank in range(2)
    ]
    found = _judged(tmp_path, *stuck)
    assert found.outcome is Outcome.UNDETERMINED
    assert "ranks 0-1 did not leave" in terminal.render(found)
