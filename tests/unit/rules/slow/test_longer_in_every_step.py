"""Ranks that take longer in every step, and those that only seem to."""

import pytest

from support.job_text import judge_text, raised
from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.rules.slow.longer_in_every_step import check


def steps(
    wait: tuple[float, ...], more: str = "", unit: str = "", **work: tuple[float, ...]
) -> list[str]:
    """Three steps of all ranks: what each waits, and the parts of its work."""
    return [
        f"[rank {rank}] step {step} total 3.00 wait {wait[rank]}{unit} "
        + " ".join(f"{name} {values[rank]}{unit}" for name, values in work.items())
        + more.format(rank)
        for step in range(3)
        for rank in range(len(wait))
    ]


def only(lines: list[str]) -> Finding:
    (found,) = judge_text(check, *lines)
    return found


@pytest.mark.parametrize("late", range(4))
def test_data_of_one_rank(late: int) -> None:
    load = tuple(1.9 if rank == late else 0.1 for rank in range(4))
    found = only(steps(tuple(2.0 - t for t in load), load=load, fwd=(0.5,) * 4))
    assert (found.cause, found.strength) == (Cause.DATA_SLOW, Strength.SUPPORTS)
    assert found.culprits == {late}


def test_a_whole_host_without_a_measured_wait() -> None:
    lines = [
        f"step {step} | ranks {first}-{first + 1} data_t {t} {t} | step_t 2.01"
        for step in range(3)
        for first, t in ((0, 0.01), (2, 1.9))
    ]
    assert only(lines).culprits == {2, 3}


def test_more_to_do_is_uneven_work() -> None:
    lines = [
        f"Part {rank} | batches {count} | fwd {count / 100} | wait at barrier {12 - count / 100}s"
        for _ in range(3)
        for rank, count in enumerate((300, 1100, 310, 305))
    ]
    found = only(lines)
    assert found.cause is Cause.UNEVEN_WORK
    assert found.culprits == {1}


def test_the_model_alone_names_the_rank_and_no_cause() -> None:
    found = only(steps((0.7, 0.7, 0.01, 0.7), compute=(0.4, 0.4, 1.1, 0.4)))
    assert found.cause is None
    assert found.culprits == {2}


def test_a_slow_gpu_of_that_rank_is_the_cause() -> None:
    gpus = [f"{gpu}, 300.1 W, {510 if gpu == 2 else 1755} MHz" for gpu in range(4)]
    lines = steps((0.7, 0.7, 0.01, 0.7), compute=(0.4, 0.4, 1.1, 0.4))
    assert only(["world_size 4", *lines, *gpus]).cause is Cause.GPU_HARDWARE
    lines = steps((0.7, 0.01, 0.7, 0.7), compute=(0.4, 1.1, 0.4, 0.4))
    assert only(["world_size 4", *lines, *gpus]).cause is None  # it is another rank's


@pytest.mark.parametrize(
    "lines",
    [
        steps((0.2, 0.21, 0.19, 0.2), fwd=(0.4, 0.41, 0.4, 0.4)),  # all alike
        steps((0.9, 0.9, 0.05, 0.9), fwd=(0.4, 0.4, 0.4, 0.4)),  # nothing explains it
        steps((0.05, 0.9, 0.05, 0.9), fwd=(0.4, 1.2, 0.4, 1.2)),  # who waits works longer
    ],
)
def test_nobody_is_late(lines: list[str]) -> None:
    assert not judge_text(check, *lines)


def test_each_step_another_one() -> None:
    lines = [
        f"[rank {rank}] step {step} wait {0.1 if rank == step % 3 else 1.0} load "
        f"{1.0 if rank == step % 3 else 0.1}"
        for step in range(9)
        for rank in range(3)
    ]
    assert not judge_text(check, *lines)


def test_a_small_part_of_the_step_is_a_hint() -> None:
    found = only(steps((0.3, 0.3, 0.05, 0.3), load=(0.05, 0.05, 0.3, 0.05)))
    assert found.strength is Strength.HINTS


def test_beside_a_failure_it_is_a_hint() -> None:
    lines = steps((1.9, 1.9, 0.05), load=(0.05, 0.05, 1.9))
    found = only([*lines, *raised(1, "ValueError: no such sample")])
    assert found.strength is Strength.HINTS
