"""The recipes that check a host before a job starts let a good host pass and stop a bad one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

OPS = Path(__file__).parents[2] / "ops"
UNHANG = Path(sys.executable).parent / "unhang"
BAD = {"GLOO_SOCKET_IFNAME": "nothere7"}
"""An interface that this host does not have: no job could start."""

pytestmark = pytest.mark.integration


def _init_container() -> list[str]:
    text = (OPS / "kubernetes" / "check-init-container.yaml").read_text("utf-8")
    pod = yaml.safe_load(text)["spec"]["template"]["spec"]
    (container,) = pod["initContainers"]
    (script,) = container["args"]
    # There is no volume of that name here.
    return [*container["command"], script.replace("/checkpoints", "/tmp")]


RECIPES = {
    "slurm": [str(OPS / "slurm" / "prolog.sh")],
    "github": [str(OPS / "github" / "job-started.sh")],
    "kubernetes": _init_container(),
}


def _run(words: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{UNHANG.parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "UNHANG": str(UNHANG), "RANKS": "1", **more}
    return subprocess.run(
        words, env=environ, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("name", RECIPES)
def test_a_good_host_passes(name: str) -> None:
    done = _run(RECIPES[name])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CHECK " in done.stdout


@pytest.mark.parametrize("name", RECIPES)
def test_a_bad_host_is_stopped_and_says_why(name: str) -> None:
    done = _run(RECIPES[name], **BAD)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "nothere7" in done.stdout


def test_a_program_that_is_not_there_takes_no_host_away() -> None:
    for name in ("slurm", "github"):
        assert _run(RECIPES[name], UNHANG="/nowhere/unhang").returncode == 0
