"""Stacks of ranks that took different ways: out of a loop, or apart after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.api import diagnose
from unhang.model.causes import Cause

_TORCH = "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"


def _stack(rank: int, *frames: str) -> str:
    lines = [
        f"Process {700 + rank}: python fit.py  (RANK={rank})",
        "Python v3.11.8 (/v/bin/python3.11)",
        f'Thread {700 + rank} (idle): "MainThread"',
        *(f"    {frame}" for frame in frames),
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("within", "cause"),
    [
        ("training_step (fit.py:41)", Cause.UNEVEN_WORK),
        # What trainers call when an epoch is over: this rank has left the loop as well.
        ("on_train_epoch_end (fit.py:71)", Cause.DESYNC),
    ],
)
def test_who_stands_in_the_hook_of_an_end_is_in_no_loop(
    within: str, cause: Cause, tmp_path: Path
) -> None:
    here = (f"all_reduce ({_TORCH}:2050)", "sync (fit.py:12)", within, "advance (loop.py:387)")
    there = (f"barrier ({_TORCH}:3685)", "finish (fit.py:90)", "advance (loop.py:402)")
    (tmp_path / "stacks.txt").write_text(_stack(0, *here) + _stack(1, *there))
    assert diagnose(str(tmp_path)).cause is cause


def test_what_was_cut_off_outside_does_not_part_two_stacks(tmp_path: Path) -> None:
    here = (f"all_reduce ({_TORCH}:2050)", "sync (fit.py:12)", "training_step (fit.py:41)")
    there = (f"barrier ({_TORCH}:3685)", "finish (fit.py:90)")
    loop, outer = ("fit (loop.py:387)", "fit (loop.py:402)"), ("run (go.py:9)", "main (go.py:2)")
    text = _stack(0, *here, loop[0], *outer[:1]) + _stack(1, *there, loop[1], *outer)
    (tmp_path / "stacks.txt").write_text(text)
    diagnosis = diagnose(str(tmp_path))
    assert diagnosis.cause is Cause.UNEVEN_WORK
    assert diagnosis.culprits == {1}


def test_stacks_without_a_common_place_are_not_said_to_part_anywhere(tmp_path: Path) -> None:
    here = (f"all_reduce ({_TORCH}:2050)", "sync (fit.py:12)")
    (tmp_path / "stacks.txt").write_text(
        _stack(0, *here) + _stack(1, f"barrier ({_TORCH}:3685)", "finish (end.py:90)")
    )
    (finding,) = diagnose(str(tmp_path)).candidates
    assert finding.why is not None
    assert finding.why.key == "DSY201.why_apart"


@pytest.mark.parametrize(
    ("third", "cause"),
    [("model.py:88", Cause.UNEVEN_WORK), ("model.py:131", None)],  # at one line; at several
)
def test_one_rank_is_past_the_loop_of_the_others(
    third: str, cause: Cause | None, tmp_path: Path
) -> None:
    outer = "run (fit.py:130)"
    past = _stack(2, f"barrier ({_TORCH}:3685)", "epoch (fit.py:77)", outer)
    steps = [
        _stack(
            rank,
            "backward (torch/autograd/__init__.py:266)",
            f"loss_of ({place})",
            "epoch (fit.py:51)",
            outer,
        ).replace("(idle)", "(active)")
        for rank, place in ((0, "model.py:88"), (1, third), (3, "model.py:88"))
    ]
    (tmp_path / "stacks.txt").write_text("".join((past, *steps)))
    found = diagnose(str(tmp_path))
    assert found.cause is cause
    assert found.culprits == ({2} if cause else set())


def test_parameters_that_different_modules_gather(tmp_path: Path) -> None:
    """Sharded parameters are gathered from all ranks by all: neither side runs ahead."""
    hook = ("fetch_sub_module (deepspeed/runtime/zero/partitioned_param_coordinator.py:332)",)
    waits = ("wait (deepspeed/runtime/zero/partition_parameters.py:117)", *hook)
    begins = (f"all_gather_into_tensor ({_TORCH}:3363)", *hook)
    text = "".join(_stack(rank, *waits, "forward (fit.py:61)") for rank in (0, 1, 3))
    (tmp_path / "stacks.txt").write_text(text + _stack(2, *begins, "forward (fit.py:96)"))
    diagnosis = diagnose(str(tmp_path))
    assert diagnosis.cause is Cause.DESYNC
    assert diagnosis.culprits == {2}


_ZERO = (
    "wait (deepspeed/runtime/zero/partition_parameters.py:94)",
    "fetch_sub_module (deepspeed/runtime/zero/partitioned_param_coordinator.py:333)",
)


@pytest.mark.parametrize(
    ("way", "culprits"),
    [
        # another part of the model; the next module of the same part, as ranks run ahead
        (("forward (net/text.py:30)", "encode (net/text.py:77)", "forward (net/both.py:14)"), {2}),
        (
            ("forward (net/image.py:52)", "encode (net/image.py:90)", "forward (net/both.py:9)"),
            None,
        ),
    ],
)
def test_parameters_of_another_part_of_the_model(
    way: tuple[str, ...], culprits: set[int] | None, tmp_path: Path
) -> None:
    most = ("forward (net/image.py:48)", "encode (net/image.py:90)", "forward (net/both.py:9)")
    ways = (most, most, way, most)
    stacks = (_stack(n, *_ZERO, *w, "fit (fit.py:12)") for n, w in enumerate(ways))
    (tmp_path / "stacks.txt").write_text("".join(stacks))
    found = diagnose(str(tmp_path))
    assert (found.culprits if found.cause is Cause.DESYNC else None) == culprits
