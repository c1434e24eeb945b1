"""Restarts under torchrun: the ranks of the second start do not look for those of the first.

The store that the program opens by hand is the launcher's own, in every start.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from integration.probed_jobs import Run
from integration.test_run_watched import UNHANG, environment, free_port
from unhang.api import diagnose
from unhang.model.diagnosis import Outcome
from unhang.probe import environment as probe_environment
from unhang.probe import restarts

pytestmark = pytest.mark.integration

AGAIN = r"""
import datetime, os, time
import torch, torch.distributed as dist
rank, limit = int(os.environ["RANK"]), datetime.timedelta(seconds=40)
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
by_hand = dist.TCPStore(*place, is_master=False, timeout=limit)
start = by_hand.add(f"starts of {rank}", 1)
if start == 2 and rank == 0:
    time.sleep(4)  # the other looks for it before it has told where it is
dist.init_process_group("gloo", timeout=limit)
dist.all_reduce(torch.ones(1))
os.write(1, b"connected in start %d\n" % start)
if start == 1 and rank == 1:
    os._exit(3)
dist.barrier()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "again.py"
    path.write_text(AGAIN)
    return path


def torchrun(*options: str) -> list[str]:
    return [sys.executable, "-m", "torch.distributed.run", "--max-restarts", "1", *options]


@pytest.mark.parametrize("own_port", [False, True])
def test_a_restart_connects_and_a_store_opened_by_hand_is_the_launchers(
    own_port: bool, script: Path, tmp_path: Path
) -> None:
    place = ["--master-port", str(free_port())] if own_port else ["--standalone"]
    launch = torchrun(*place, "--nproc-per-node", "2", str(script))
    run = subprocess.run(
        [*UNHANG, "--out", str(tmp_path / "run"), "--on-hang", "abort", "--", *launch],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("connected in start 2") == 2, run.stdout
    found = diagnose(str(tmp_path / "run"))
    assert (found.outcome, found.culprits) == (Outcome.HEALTHY, frozenset())


def test_a_restart_of_two_nodes_connects(script: Path, tmp_path: Path) -> None:
    played = Run(tmp_path / "run")
    end = f"127.0.0.1:{free_port()}"
    meet = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-id", "two", "--rdzv-endpoint", end]
    command = torchrun(*meet, "--nproc-per-node", "1", str(script))
    environ = environment()
    environ |= probe_environment.additions(
        environ, run_folder=str(played.folder.root), restarts=True
    )
    nodes = [
        subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) for _ in "ab"
    ]
    try:
        said = [node.communicate(timeout=120)[0] for node in nodes]
    finally:
        for node in nodes:
            node.kill()
    assert [node.returncode for node in nodes] == [0, 0]
    assert all("connected in start 2" in text for text in said)


@pytest.mark.parametrize(("asking", "expected"), [(2, {True}), (1, {False})])
def test_all_nodes_or_none_use_a_prefix(
    asking: int, expected: set[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "_WAIT", timedelta(seconds=2 if asking == 1 else 60))
    dist: Any = pytest.importorskip("torch.distributed")
    port = free_port()
    server = dist.TCPStore("127.0.0.1", port, is_master=True)
    agents = [server, dist.TCPStore("127.0.0.1", port, is_master=False)][:asking]
    answers: set[bool] = set()
    threads = [
        threading.Thread(target=lambda at=agent: answers.add(restarts._all_do(at, 2)))
        for agent in agents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == expected
    if asking == 1:  # who comes late hears what was decided
        assert not restarts._all_do(dist.TCPStore("127.0.0.1", port, is_master=False), 2)


@pytest.mark.parametrize(
    ("environ", "prefix"),
    [
        ({}, ""),
        ({"UNHANG_ROUND": "0", "TORCHELASTIC_RESTART_COUNT": "0"}, ""),
        ({"UNHANG_ROUND": "2", "TORCHELASTIC_RESTART_COUNT": "1"}, "unhang/start2"),
        ({"TORCHELASTIC_RESTART_COUNT": "1", "GROUP_WORLD_SIZE": "1"}, "unhang/start1"),
        ({"TORCHELASTIC_RESTART_COUNT": "1", "GROUP_WORLD_SIZE": "2"}, ""),
    ],
)
def test_a_prefix_is_the_same_for_all_ranks_of_a_start(
    environ: dict[str, str], prefix: str
) -> None:
    shares = {"TORCHELASTIC_USE_AGENT_STORE": "True"}
    assert restarts._prefix(environ | shares) == prefix
    assert restarts._prefix(environ) == "", "a store that is not the agent's is left alone"


def test_nothing_is_set_that_the_program_would_read(tmp_path: Path) -> None:
    added = probe_environment.additions(dict(os.environ), run_folder="/run", restarts=True)
    assert {name for name in added if not name.startswith("UNHANG_")} == {"PYTHONPATH"}
