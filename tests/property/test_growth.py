"""Nothing grows faster than its input: four times as much is not more than four times the work."""

from __future__ import annotations

import cProfile
import hashlib
import pstats
import time
from pathlib import Path

import pytest
from benchmarks.growth import FACTOR, SHAPES, stacks, timed_out, write

import unhang
from unhang.sources.context import breaks_off

_SIZE = 200
_LETTERS = str.maketrans("0123456789", "ghijklmnop")
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


def _many_files(count: int, folder: Path) -> None:
    """A log and a dump of stacks of each rank, every second with a host; no two names alike."""
    for rank in range(count):
        name = hashlib.sha256(str(rank).encode()).hexdigest()[:12].translate(_LETTERS)
        host = f" host=gpu-{rank // 8:03d}" if rank % 2 else ""
        log = [timed_out(rank, 808), f"2026-06-02 15:{rank % 60:02d}:01 gpu-{rank:03d} train{host}"]
        (folder / f"{name}.log").write_text("\n".join(log) + "\n")
        seen = "\n".join(stacks(rank + 1)).split(f"[rank{rank}]: Thread")[-1]
        (folder / f"{name[::-1]}.txt").write_text(f"[rank{rank}]: Thread{seen}\n")


def test_the_work_grows_with_the_number_of_files_and_no_faster(tmp_path: Path) -> None:
    counts = []
    for place, count in enumerate((1, 1, 40, FACTOR * 40)):  # the first one imports
        folder = tmp_path / str(place)
        folder.mkdir()
        _many_files(count, folder)
        profile = cProfile.Profile()
        profile.runcall(unhang.diagnose, str(folder))
        counts.append(int(pstats.Stats(profile).total_calls))  # type: ignore[attr-defined]
    _, one, few, many = counts
    assert many - one < _MOST * (few - one)


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
