"""DSY202: a collective inside a function that only rank 0 runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.api import diagnose
from unhang.model.causes import Cause

_LIB = "/v/lib/python3.11/site-packages"
_GUARDED = (
    f"all_gather ({_LIB}/torch/distributed/distributed_c10d.py:3000)",
    "figures (fit.py:40)",
    f"wrapped_fn ({_LIB}/lightning_utilities/core/rank_zero.py:41)",
    "main (fit.py:90)",
)
_BACKWARD = (f"backward ({_LIB}/torch/autograd/__init__.py:266)", "main (fit.py:71)")
_SAME = (_GUARDED[0], "figures (fit.py:40)", "main (fit.py:90)")
_READS = (f"_next_data ({_LIB}/torch/utils/data/dataloader.py:674)", "main (fit.py:70)")


def stack(pid: int, *frames: str) -> str:
    lines = [f"Process {pid}: python fit.py", "Python v3.11.8 (/v/bin/python3.11)", ""]
    lines += [f'Thread {pid} (active): "MainThread"', *(f"    {frame}" for frame in frames)]
    return "\n".join(lines) + "\n\n"


@pytest.mark.parametrize(("other", "named"), [(_BACKWARD, {0}), (_SAME, set()), (_READS, set())])
def test_rank_0_is_alone_in_it(other: tuple[str, ...], named: set[int], tmp_path: Path) -> None:
    (tmp_path / "stacks.txt").write_text(stack(700, *_GUARDED) + stack(701, *other))
    found = diagnose(str(tmp_path))
    assert set(found.culprits) == named
    assert (found.cause is Cause.DESYNC) == bool(named)


def test_without_another_stack_nobody_is_accused(tmp_path: Path) -> None:
    (tmp_path / "stacks.txt").write_text(stack(700, *_GUARDED))
    assert diagnose(str(tmp_path)).cause is None
