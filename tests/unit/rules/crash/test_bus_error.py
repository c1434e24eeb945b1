"""CRA006 where somebody looked at /dev/shm."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause


@pytest.mark.parametrize(("percent", "cause"), [(100, Cause.SHM_SMALL), (3, Cause.RANK_CRASH)])
def test_sigbus_with_and_without_room(percent: int, cause: Cause, tmp_path: Path) -> None:
    lines = [f"step {n} loss 2.1" for n in range(4)]
    lines += ["rank 2 died with exit code -7", "$ df -h /dev/shm"]
    lines += [f"shm              64G  1.2G   63G {percent}% /dev/shm"]
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    found = unhang.diagnose(str(tmp_path / "job.log"))
    assert found.cause is cause
    assert found.culprits == {2}
