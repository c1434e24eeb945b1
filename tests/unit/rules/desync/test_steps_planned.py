"""Ranks that say how many batches they have, and those with fewer that nobody can wait for."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis
from unhang.model.events import StepsPlanned
from unhang.parsers.steps_planned import StepsPlannedParser
from unhang.sources.line import Line


def gave_up(rank: int, op: str, size: int) -> str:
    return (
        f"[rank{rank}]:[E314 10:40:0{rank}.1 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog "
        f"caught collective operation timeout: WorkNCCL(SeqNum=9001, OpType={op}, NumelIn={size}, "
        f"NumelOut={size}, Timeout(ms)=1800000) ran for 1800042 milliseconds before timing out."
    )


def judged(folder: Path, words: str, counts: list[int], *alarms: str) -> Diagnosis:
    plans = [f"[rank{rank}]: {words.format(n=n)}" for rank, n in enumerate(counts)]
    (folder / "job.log").write_text("\n".join((*plans, *alarms)) + "\n")
    return unhang.diagnose(str(folder / "job.log"))


WAITERS = [gave_up(rank, "ALLREDUCE", 5_000_000) for rank in range(3)]
FEWER = [500, 500, 500, 497]


@pytest.mark.parametrize(
    "words",
    [
        "the loader has {n} batches",
        "steps per epoch: {n}",
        "len(train_loader) = {n}",
        "number of batches in the sampler (epoch 2): {n}",
    ],
)
@pytest.mark.parametrize(
    ("last", "sure"),
    [(None, "supports"), (("ALLREDUCE", 1), "proves"), (("ALLGATHER", 700), "proves")],
)
def test_the_rank_with_fewer_is_not_with_the_others(
    words: str, last: tuple[str, int] | None, sure: str, tmp_path: Path
) -> None:
    alarms = WAITERS if last is None else [*WAITERS, gave_up(3, *last)]
    found = judged(tmp_path, words, FEWER, *alarms)
    assert found.cause is Cause.UNEVEN_WORK
    assert found.culprits == {3}
    assert found.strength is not None
    assert found.strength.value == sure


def test_it_waits_with_the_others(tmp_path: Path) -> None:
    alarms = [*WAITERS, gave_up(3, "ALLREDUCE", 5_000_000)]
    assert judged(tmp_path, "the loader has {n} batches", FEWER, *alarms).cause is None


def test_equal_plans_and_other_words_tell_nothing(tmp_path: Path) -> None:
    assert judged(tmp_path, "the loader has {n} batches", [500] * 4, *WAITERS).cause is None
    assert judged(tmp_path, "done with {n} batches", FEWER, *WAITERS).cause is None
    assert judged(tmp_path, "the loader has {n} batches", [500, 500, 497, 497], *WAITERS).cause is (
        None
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("rank 3: dataloader has 497 batches", 497),
        ("rank 3 num_batches=497", 497),
        ("rank 3 | steps per epoch: 497", 497),
        ("rank 3 will run 497 steps", 497),
        ("rank 3 step 497", None),
        ("rank 3 finished 497 batches", None),
        ("rank 3 saves every 500 steps", None),
        ("rank 3 warmup: 100 steps", None),
        ("rank 3 12.1 steps/s", None),
        ("dataloader has 497 batches", None),
    ],
)
def test_plans(text: str, count: int | None) -> None:
    events = list(StepsPlannedParser().feed(Line(artifact="a", number=1, text=text, raw=text)))
    assert [e.count for e in events if isinstance(e, StepsPlanned)] == (
        [] if count is None else [count]
    )
