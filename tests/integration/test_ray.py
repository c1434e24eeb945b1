"""The workers of a real Ray cluster on loopback read and judge as this machine's processes do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests/cases"
SCRIPTS = Path(__file__).parent / "scripts"
UNHANG = str(Path(sys.executable).with_name("unhang"))

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install ray"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    """A cluster of two workers; the environment of those who use it."""
    env = {**os.environ, "RAY_DEDUP_LOGS": "0", "PYTHONPATH": str(SCRIPTS)}
    with subprocess.Popen(
        [sys.executable, SCRIPTS / "ray_cluster.py"],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        address = process.stdout.readline().strip()
        assert address, "Ray did not start"
        try:
            yield {**env, "RAY_ADDRESS": address}
        finally:
            process.stdin.close()  # it ends the cluster then
            process.wait()


def told(env: dict[str, str], *words: str, folder: Path = ROOT) -> Any:
    done = subprocess.run(
        [UNHANG, *words, "--format", "json"],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    found.pop("stats", None)
    return found


@pytest.mark.parametrize(
    "case",
    ["demo", "hardware-gpu-off-the-bus", "healthy-after-a-restart", "desync-gloo-sizes"],
)
def test_the_verdict_is_the_same_to_the_last_bit(cluster: dict[str, str], case: str) -> None:
    path = f"tests/cases/{case}/input"  # relative: workers have folders of their own
    assert told(cluster, "diagnose", path, "--engine", "ray") == told(cluster, "diagnose", path)


def test_dumps_are_read_there_as_here(cluster: dict[str, str], tmp_path: Path) -> None:
    import random

    from benchmarks.recorder_dumps import Form, write
    from benchmarks.recorder_faults import stall
    from benchmarks.recorder_jobs import Job, mesh, train

    job = Job(train(mesh(16, 2, 4), 4))
    stall(job, 5, 11)
    job.run(random.Random(0))
    write(job, tmp_path, [Form()])
    there = told(cluster, "diagnose", str(tmp_path), "--engine", "ray")
    assert there == told(cluster, "diagnose", str(tmp_path))
    assert there["culprits"] == [5]


def test_a_fleet_is_the_same(cluster: dict[str, str], tmp_path: Path) -> None:
    roots = [str(CASES / case / "input") for case in ("demo", "hardware-gpu-off-the-bus")]
    options = ("--depth", "0", "--store")
    here = told(cluster, "fleet", *roots, *options, str(tmp_path / "here"))
    there = told(cluster, "fleet", *roots, *options, str(tmp_path / "there"), "--engine", "ray")
    assert there == here
    assert there["judged"] == len(here["jobs"]) == 2


def test_a_killed_worker_costs_only_its_shard(cluster: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS / "ray_shards.py", str(tmp_path)],
        env=cluster,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "died" in done.stderr  # what Ray says of it is no result
    # 3 kills its worker the first time, 5 each time
    expected = [[n, None if n == 5 else n * n] for n in range(8)]
    assert json.loads(done.stdout) == expected
