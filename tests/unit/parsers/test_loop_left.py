"""What a rank says of the end of its own loop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.feeding import feed, line, only
from unhang.model.events import LoopEnd, LoopLeft
from unhang.model.provenance import Origin
from unhang.parsers.loop_left import LoopLeftParser


@pytest.mark.parametrize(
    ("text", "rank", "end"),
    [
        ("[rank 7] epoch 9 done, 35 batches, main() returns", 7, LoopEnd.TRAINING),
        ("[rank 7] epoch 9 done, 35 batches", 7, LoopEnd.EPOCH),
        ("rank 1 | train loop: 0 batches", 1, LoopEnd.EPOCH),
        ("Rank: 12, early stopping was triggered", 12, LoopEnd.TRAINING),
        ("train.loop - INFO - [rank 3] entering valid stage", 3, LoopEnd.VALIDATION),
        ("process 2: ran out of data, leaving the training loop", 2, LoopEnd.TRAINING),
        ("global rank 5: dataloader exhausted", 5, LoopEnd.EPOCH),
        ("[rank 2] fit : Completed train epoch 3 with 992 samples", 2, LoopEnd.EPOCH),
        ("[rank 2] end of pass 3", 2, LoopEnd.EPOCH),
    ],
)
def test_its_words(text: str, rank: int, end: LoopEnd) -> None:
    event = only(LoopLeft, feed(LoopLeftParser, text))
    assert (event.origin.rank, event.end) == (rank, end)


def test_a_prefix_names_the_rank_as_well() -> None:
    event = only(LoopLeft, feed(LoopLeftParser, line("no more batches", rank=4)))
    assert (event.origin.rank, event.end) == (4, LoopEnd.EPOCH)


def test_so_does_a_task() -> None:
    said = replace(line("no more batches"), origin=Origin(task=3))
    assert only(LoopLeft, feed(LoopLeftParser, said)).origin.task == 3


@pytest.mark.parametrize(
    "text",
    [
        "epoch 9 done",
        "[rank 3] early stopping counter: 3 out of 5",
        "[rank 3] early_stopping=True",
        "[rank 3] epoch 9 is not done",
        "[rank 3] will leave the loop when the flag is set",
        "[rank 3] all ranks leave the loop together: training loop finished",
        "[rank 3] loading shards finished, data loaded",
        "[rank 3] resuming: epoch 9 done before",
        "[rank 3] broadcast returned after 3 s",
        "[rank 3] batch 7 of 100, loss 0.7",
        "trank 3: epoch 9 done",
    ],
)
def test_other_words(text: str) -> None:
    assert feed(LoopLeftParser, text) == []
