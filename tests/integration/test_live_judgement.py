"""The live judge on real jobs: the fact and its verdict, seconds apart, and the same one later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from integration.launch import launched
from integration.whom_all_name import told_of
from unhang.api import diagnose
from unhang.live.messages.job_snapshot import JobSnapshot, Stage, SuspicionReason
from unhang.model.causes import Cause
from unhang.model.codec import decode

pytestmark = pytest.mark.integration

TRAIN = """
import os, sys, time
import torch, torch.distributed as dist

def look_at_metrics(seconds):
    end = time.time() + seconds
    while time.time() < end:
        sum(i * i for i in range(20000))

dist.init_process_group("gloo")
rank = dist.get_rank()
groups = [dist.group.WORLD, dist.new_group([0, 1, 2])]
for step in range(60):
    order = [0, 1]
    if step == 20 and rank == 1 and sys.argv[1] == "circle":
        order = [1, 0]
    if step == 20 and rank == 0 and sys.argv[1] == "work":
        look_at_metrics(15)
    if step == 20 and sys.argv[1] == "tags":
        if rank == 1:
            dist.send(torch.ones(4), 2, tag=7)
        if rank == 2:
            dist.recv(torch.ones(4), 1, tag=8)
    for index in order:
        dist.all_reduce(torch.ones(4 + 4 * index), group=groups[index])
    time.sleep(0.1)
dist.destroy_process_group()
"""


def run(what: str, folder: Path) -> tuple[list[dict[str, Any]], str]:
    """The events of a run, and its output."""
    script = folder / "train.py"
    script.write_text(TRAIN)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "unhang", "run", "--out", str(folder / "run")),
            *("--on-hang", "abort", "--", *launched(3, script, what)),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = (folder / "run" / "events.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines], done.stdout + done.stderr


ENDS = """
import os, sys, time
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
for step in range(60):
    if step == 20 and rank == 1:
        os._exit(3)
    dist.all_reduce(torch.ones(4))
    time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def circle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]], str]:
    """A job that two groups hold in a circle: its folder, events and output."""
    folder = tmp_path_factory.mktemp("circle")
    return folder, *run("circle", folder)


def test_two_ranks_whose_messages_miss_each_other_are_named_everywhere(tmp_path: Path) -> None:
    run("tags", tmp_path)
    named = told_of(tmp_path / "run")
    assert named == {place: {1, 2} for place in named}


@pytest.mark.parametrize("what", ["circle", "leave"])
def test_all_that_tell_of_a_run_name_the_same_ranks(
    what: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A hang that is proved, and a rank that leaves."""
    if what == "circle":
        tmp_path, *_ = request.getfixturevalue("circle")
    else:
        script = tmp_path / "ends.py"
        script.write_text(ENDS)
        subprocess.run(
            [
                *(sys.executable, "-m", "unhang", "run", "--out", str(tmp_path / "run"), "--"),
                *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
                *("--nproc-per-node", "3", str(script), what),
            ],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            timeout=300,
            check=False,
        )
    named = told_of(tmp_path / "run")
    if what == "leave":  # nobody waits for long: the judge may have held nothing against it
        assert named.pop("while it ran") <= {1}
        assert named.pop("rows of the screens") <= {1}
    assert named == {place: {1} for place in named}


def test_a_circle_of_groups_is_proved_and_judged_the_same_later(
    circle: tuple[Path, list[dict[str, Any]], str],
) -> None:
    folder, events, output = circle
    (hang,) = [event for event in events if event["kind"] == "hang_confirmed"]
    assert hang["culprits"] == [1], output
    view = decode(JobSnapshot, json.loads((folder / "run" / "standing.json").read_text()))
    (confirmed,) = [s for s in view.suspicions if s.stage is Stage.CONFIRMED]
    assert confirmed.charge is SuspicionReason.CIRCLE
    later = diagnose(str(folder / "run"))
    assert later.cause in {Cause.PG_DEADLOCK, Cause.DESYNC}
    assert later.culprits == frozenset({1})


def test_a_rank_that_computes_while_the_others_wait_is_told_and_not_condemned(
    tmp_path: Path,
) -> None:
    events, output = run("work", tmp_path)
    kinds = [event["kind"] for event in events]
    assert "hang_confirmed" not in kinds, output
    assert [0] in [event["culprits"] for event in events if event["kind"] == "waiting"]
    assert (events[-1]["kind"], events[-1].get("culprits", [])) == ("exited", [])
