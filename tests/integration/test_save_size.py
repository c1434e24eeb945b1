"""Planned bytes of a save against those of a real one; `benchmarks.save_time` compares seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.save_time import planned, request_of, write

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("layers", [1, 3])
def test_a_save_is_as_large_as_planned_and_waits_for_its_bytes(tmp_path: Path, layers: int) -> None:
    request, file = request_of(layers), tmp_path / "model.pt"
    assert write(request, file) > 0
    slow, fast = (planned(request, speed) for speed in (1 << 27, 1 << 29))
    assert slow.size_bytes == pytest.approx(file.stat().st_size, rel=0.001)
    assert slow.wait_s is not None
    assert fast.wait_s is not None
    assert slow.wait_s > fast.wait_s > slow.size_bytes / (1 << 29) * 0.9
