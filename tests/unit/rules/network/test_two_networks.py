"""Hosts of one job that NCCL put on different networks."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause


@pytest.mark.parametrize(
    ("second", "steps", "cause"),
    [("Socket", 0, Cause.RDMA_FAULT), ("IB", 0, None), ("Socket", 3, None)],
)
def test_one_host_falls_back(second: str, steps: int, cause: Cause | None, tmp_path: Path) -> None:
    networks = {"gx1": "IB", "gx2": second}
    lines = [
        f"{host}:{10 + n}:{20 + n} [{n}] NCCL INFO Using network {network}"
        for host, network in networks.items()
        for n in range(2)
    ]
    lines += [f"step {n} loss 2.1" for n in range(steps)] + ["^C"]
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    found = unhang.diagnose(str(tmp_path / "job.log"))
    assert found.cause is cause
    assert cause is None or found.culprit_hosts == {"gx2"}
