"""Times of each rank, in whatever form a program prints them."""

import pytest

from support.job_text import incident_of
from unhang.model.events import Part, RankTimed


def times(*lines: str, **more: str) -> dict[tuple[Part, int | None], float]:
    timed = incident_of(*lines, **more).all(RankTimed)
    return {(e.part, e.origin.rank): e.typical for e in timed}


def test_rows_of_a_table() -> None:
    rows = [
        f"{step},{rank},{9 + 90 * rank},{300 - 90 * rank}" for step in range(4) for rank in (0, 1)
    ]
    found = times("step,rank,load_ms,allreduce_ms", *rows)
    assert found[Part.DATA, 1] == 99
    assert found[Part.WAIT, 0] == 300


@pytest.mark.parametrize(
    "line",
    [
        "it=7 wait_ms r0..r2: 900 21 880  ffn_ms: 170 1050 190",
        "[7] wait ms by rank: 0:900 1:21 2:880 | ffn ms: 170 1050 190",
        "step 7 | ranks 0-2 wait 900 21 880 | mlp 170 1050 190 | mem 60 60 60",
    ],
)
def test_values_side_by_side(line: str) -> None:
    found = times(*[line] * 3)
    assert {found[Part.WAIT, rank] for rank in range(3)} == {900, 21, 880}
    assert found[Part.COMPUTE, 1] == 1050
    assert len(found) == 6


def test_a_line_for_each_rank_and_its_last_values() -> None:
    lines = [
        f"host-a worker{rank} step {step} total 2.0 input {0.01 if step < 5 else rank:.2f} wait 1.0"
        for step in range(12)
        for rank in range(3)
    ]
    found = times(*lines)
    assert found[Part.DATA, 2] == 2.0
    assert found[Part.WHOLE, 0] == 2.0


@pytest.mark.parametrize(
    "line",
    [
        "worker7 input 1.5 wait 0.2",  # no worker 0: its number is no rank
        "rank 1 loss 2.5 mem 61.0 lr 0.001",
        "data 0.31s batch 0.44s over ranks max 0.5 min 0.2",
    ],
)
def test_what_tells_of_no_rank_or_no_time(line: str) -> None:
    assert not {key: value for key, value in times(*[line] * 4).items() if key[1] is not None}
