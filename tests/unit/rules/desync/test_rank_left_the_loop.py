"""DSY017: ranks that have left the loop, while the others wait in it or begin another pass."""

from __future__ import annotations

import pytest

from support.job_text import judge_text, raised, timed_out
from unhang.model.rule import Strength
from unhang.rules.desync.rank_left_the_loop import check

STEPS = [
    f"Epoch 6:  {part}0%|██        | {part}0/100 [00:0{part}<00:09, 10.0it/s]" for part in "369"
]


def bar(epoch: int, done: int) -> str:
    return f"Epoch {epoch}:   0%|          | {done}/100 [00:01<02:40,  2.42it/s]"


@pytest.mark.parametrize(
    "words",
    [
        "[rank 3] epoch 9 done, 35 batches, main() returns",
        "rank 3 | train loop: 0 batches, on_stage_end",
        "data.py - INFO - [rank 3] shards exhausted after 104 batches",
        "rank 3: stream of worker 1 ended after 9 batches (StopIteration)",
        "[proc 3] val_acc 0.91 above 0.90, stopping training",
        "[rank3]: early stopping triggered by the local loss",
    ],
)
def test_the_rank_that_left_is_named(words: str) -> None:
    (finding,) = judge_text(check, *STEPS, words, *map(timed_out, (0, 1, 2)))
    assert finding.culprits == {3}
    assert finding.strength is Strength.SUPPORTS


@pytest.mark.parametrize(
    "words",
    [
        "rank 3: early stopping counter: 2 out of 5",
        "rank 3: will stop training if the loss rises",
        "rank 3: not stopping training, val_acc 0.89 below 0.90",
        "rank 3: waiting until epoch 9 is done",
        "rank 3: finished loading the data set",
        "rank 3: data loaded, shards: 7",
        "rank 0: epoch 9 done",
        "epoch 9 done",
    ],
)
def test_other_words_say_no_such_thing(words: str) -> None:
    gave_up = (1, 2) if words.startswith("rank 0") else (0, 1, 2)
    assert judge_text(check, *STEPS, words, *map(timed_out, gave_up)) == []


def test_who_waits_has_said_it_as_often() -> None:
    said = [f"[rank {rank}] epoch {epoch} done" for epoch in range(3) for rank in range(4)]
    assert judge_text(check, *said, *map(timed_out, (0, 1, 2))) == []
    (finding,) = judge_text(check, *said, "[rank 3] epoch 3 done", *map(timed_out, (0, 1, 2)))
    assert finding.culprits == {3}


def test_most_ranks_left_so_nobody_is_blamed() -> None:
    said = [f"[rank {rank}] epoch 9 done, main() returns" for rank in (0, 2, 3, 5, 7)]
    (finding,) = judge_text(check, *said, *map(timed_out, (1, 4, 6)))
    assert not finding.culprits


def test_different_operations_after_one_side_left_prove_it() -> None:
    other = timed_out(3).replace("ALLREDUCE", "ALLGATHER")
    lines = [*STEPS, "[rank 3] entering valid stage", *map(timed_out, (0, 1, 2)), other]
    (finding,) = judge_text(check, *lines)
    assert finding.culprits == {3}
    assert finding.strength is Strength.PROVES


def test_rank_0_evaluates_alone_is_another_story() -> None:
    other = timed_out(0).replace("ALLREDUCE", "BROADCAST")
    lines = [*STEPS, "[rank 0] entering valid stage", other, *map(timed_out, (1, 2, 3))]
    assert judge_text(check, *lines) == []


def test_a_failure_before_makes_it_a_hint() -> None:
    lines = [*raised(2, "ValueError: bad sample"), "[rank 3] epoch 9 done", *map(timed_out, (0, 1))]
    assert all(f.strength is Strength.HINTS for f in judge_text(check, *lines))


def test_another_pass_stands_at_its_beginning() -> None:
    words = "[proc 1] val_acc 0.91 above 0.90, stopping training"
    (finding,) = judge_text(check, *STEPS, bar(6, 100), words, bar(7, 1))
    assert finding.culprits == {1}
    moving = [bar(7, done) for done in range(1, 9)]
    assert judge_text(check, *STEPS, bar(6, 100), words, *moving) == []
    assert judge_text(check, *STEPS, bar(6, 100), "[proc 1] epoch 6 done", bar(7, 1)) == []


def test_the_last_words_of_who_left_say_that_it_waits() -> None:
    steps = [f"[rank {rank}] step 18 inner pass 3: backward" for rank in (0, 1, 2)]
    left = ["[rank 3] step 18: loss 0.15 above 0.10, early stop, break"]
    waits = "[rank 3] step 18 done, waiting for the others' figures"
    (finding,) = judge_text(check, *left, *steps, waits)
    assert finding.culprits == {3}
    assert judge_text(check, *left, *steps, "[rank 3] step 19 inner pass 1: backward") == []


def test_those_that_wait_are_past_the_loop_too() -> None:
    left, saves = (
        "[rank 1] training loop finished, leaving main()",
        "Saving model checkpoint to out",
    )
    assert judge_text(check, *STEPS, left, timed_out(0))
    assert judge_text(check, *STEPS, left, saves, timed_out(0)) == []


@pytest.mark.parametrize(("odd", "sized", "named"), [(3, False, 1), (3, True, 0), (0, False, 0)])
def test_a_call_without_sizes_may_be_two(odd: int, sized: bool, named: int) -> None:
    """All report one call; where no size is printed, the rank that left may be in another."""
    waits = [timed_out(rank) for rank in range(4)]
    if not sized:
        waits = [w.replace(w[w.index("NumelIn") : w.index("Timeout(ms)")], "") for w in waits]
    lines = [*STEPS, f"[rank {odd}] reaches end of dataloader", *waits]
    assert [set(f.culprits) for f in judge_text(check, *lines)] == [{odd}] * named


def test_a_wait_that_gloo_gave_up_is_one_too() -> None:
    gave_up = (
        "[rank1]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed"
        " out waiting 30000ms for recv operation to complete"
    )
    (finding,) = judge_text(check, *STEPS, "[rank 2] iterator ended after batch 31", gave_up)
    assert finding.culprits == {2}
