"""What real loader workers hold of a data set, beside the copies that the plan counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unhang.architectures import find_model
from unhang.planning import PlanRequest
from unhang.planning.memory import of_host

pytest.importorskip("torch")
pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

SCRIPT = Path(__file__).parent / "scripts" / "loader_memory.py"
WORKERS = 2
NEAR = 0.2
"""What is unpickled in a worker takes up to a sixth more than it took in the rank."""


@pytest.fixture(scope="module")
def copies() -> dict[str, float]:
    """Of the data, by its kind and how workers start, in one rank and its workers."""
    cases = ["rows fork", "array fork", "tensor fork", "mapped fork", "array spawn"]
    command = [sys.executable, str(SCRIPT), *cases]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(told.stdout)
    assert isinstance(found, dict)
    return found


def planned(size: int) -> int:
    """Bytes of the data in a host of one rank."""
    model = find_model("llama-3-8b")
    assert model is not None
    request = PlanRequest(model=model, world=1, data_bytes=size, workers=WORKERS)
    (data,) = [amount for amount in of_host(request).amounts if amount.what == "data"]
    return data.size_bytes


@pytest.mark.parametrize("case", ["rows fork", "array spawn"])
def test_each_rank_and_worker_holds_a_copy(case: str, copies: dict[str, float]) -> None:
    assert copies[case] == pytest.approx(planned(1_000) / 1_000, rel=NEAR)


@pytest.mark.parametrize("case", ["array fork", "tensor fork"])
def test_forked_workers_share_arrays_and_tensors(case: str, copies: dict[str, float]) -> None:
    assert copies[case] == pytest.approx(1, abs=NEAR)


def test_a_mapped_file_is_in_the_page_cache_alone(copies: dict[str, float]) -> None:
    assert copies["mapped fork"] == pytest.approx(0, abs=NEAR)
