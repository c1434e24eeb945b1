"""Nothing grows faster than its input: four times as much is not more than four times the work."""

from __future__ import annotations

import cProfile
import pstats
import time
from pathlib import Path

import pytest
from benchmarks.growth import FACTOR, SHAPES, write

import unhang
from unhang.sources.context import breaks_off

_SIZE = 200
_MOST = 1.25 * FACTOR
"""With the logarithms of sorting."""


def _calls(shape: str, size: int, folder: Path) -> int:
    """Function calls of a whole diagnosis: unlike seconds, the same on every machine."""
    folder.mkdir()
    write(SHAPES[shape][0], size, folder)
    profile = cProfile.Profile()
    profile.runcall(unhang.diagnose, str(folder))
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_grows_with_the_log_and_no_faster(shape: str, tmp_path: Path) -> None:
    none = _calls(shape, 0, tmp_path / "none")
    few = _calls(shape, _SIZE, tmp_path / "few") - none
    many = _calls(shape, FACTOR * _SIZE, tmp_path / "many") - none
    assert many < _MOST * few


@pytest.mark.parametrize("size", [20_000_000, 999_999_999, 10**30])
def test_a_claimed_size_costs_nothing(size: int, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(
        f"g:4:5 [0] NCCL INFO comm 0x1 rank 0 nranks {size} cudaDev 0 busId 1b - Init START\n"
        f"[rank0]: world_size={size} local_rank=0\n"
    )
    profile = cProfile.Profile()
    verdict = profile.runcall(unhang.diagnose, str(tmp_path))
    assert verdict.coverage.world_size is None
    assert pstats.Stats(profile).total_calls < 200_000  # type: ignore[attr-defined]


def test_only_the_end_of_a_long_beginning_is_looked_at() -> None:
    begun = time.process_time()
    assert breaks_off("gpu07:4711 it is the " * 200_000)
    assert time.process_time() - begun < 0.5
