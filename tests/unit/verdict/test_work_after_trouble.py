"""Jobs that lived through trouble: training takes all ranks, so long training shows all alive."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.diagnosis import Diagnosis, Outcome

OUT_OF_MEMORY = tuple(
    f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU"
    f" {rank} has a total capacity of 79.10 GiB of which 1.10 GiB is free."
    for rank in range(4)
)
UPLOAD_FAILED = (
    "Traceback (most recent call last):",
    '  File "/job/upload.py", line 12, in put',
    "    client.put(part)",
    "botocore.exceptions.ConnectTimeoutError: Connect timeout on endpoint URL",
)
DONE = "***** train metrics *****"


def losses(count: int) -> list[str]:
    return [f"{{'loss': {9 - n / 10:.4f}, 'learning_rate': 1e-05}}" for n in range(count)]


def judged(tmp_path: Path, *lines: str) -> Diagnosis:
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    return unhang.diagnose(str(tmp_path))


@pytest.mark.parametrize("trouble", [OUT_OF_MEMORY, UPLOAD_FAILED], ids=["memory", "upload"])
def test_what_training_outlived_is_no_cause(tmp_path: Path, trouble: tuple[str, ...]) -> None:
    before = losses(4)
    assert judged(tmp_path, *before, *trouble, *losses(30), DONE).outcome is Outcome.HEALTHY
    assert judged(tmp_path, *before, *trouble).cause is not None
    assert judged(tmp_path, *before, *trouble, *losses(3)).cause is not None
    assert judged(tmp_path, *before, *losses(30), *trouble).cause is not None


def test_losses_without_an_end_do_not_speak_for_ranks_that_raised(tmp_path: Path) -> None:
    """Who prints them may be another rank, and its step may need nobody."""
    assert judged(tmp_path, *OUT_OF_MEMORY[:1], *losses(30)).cause is not None


def test_words_before_long_work_are_not_likely_a_cause(tmp_path: Path) -> None:
    words = "frobnicator: fatal failure, segment crashed and was abandoned!!"
    assert judged(tmp_path, *losses(2), words, *losses(30)).likely is None
