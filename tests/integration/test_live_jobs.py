"""Small real jobs under the judge: healthy ones that look like hangs, and hangs that hid."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from integration.launch import launched
from integration.whom_all_name import held, told_of

pytestmark = pytest.mark.integration

HEAD = """
import datetime, fcntl, os, queue, sys, threading, time
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=LIMIT))
rank, world = dist.get_rank(), dist.get_world_size()

def steps(count):
    for _ in range(count):
        dist.all_reduce(torch.ones(4))
        time.sleep(0.05)

steps(40)
"""
TAIL = """
steps(20)
dist.destroy_process_group()
"""

HEALTHY = {
    "one native call that keeps the interpreter lock": """
        if rank == 1:
            big = list(range(9_000_000, 0, -1))
            until = time.time() + 14
            while time.time() < until:
                sorted(big, key=str)
    """,
    "a look for a file now and then": """
        if rank == 0:
            for _ in range(3):
                os.path.exists("/nowhere/at/all")
                time.sleep(6)
    """,
    "a queue that a paced helper fills": """
        if rank == 2:
            ready = queue.Queue()
            def collect():
                for _ in range(16):
                    time.sleep(1)
                ready.put(1)
            threading.Thread(target=collect, daemon=True).start()
            ready.get()
    """,
}
HANGS: dict[str, tuple[int, str, set[int]]] = {
    "several gradients at once, and one rank pauses": (
        3,
        """
        model = torch.nn.Sequential(*(torch.nn.Linear(32, 32) for _ in range(5)))
        model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.005)
        for number in range(60):
            if number == 25 and rank == 2:
                time.sleep(3_600)
            model(torch.ones(2, 32)).sum().backward()
        """,
        {2},
    ),
    "everybody receives before anybody sends": (
        3,
        """
        box = torch.zeros(8)
        dist.recv(box, src=(rank + 1) % world)
        dist.send(box, dst=(rank - 1) % world)
        """,
        {0, 1, 2},
    ),
    "one receive too many": (
        3,
        """
        box = torch.zeros(8)
        for _ in range(4 + (rank == 2)):
            if rank == 0:
                dist.send(box, dst=2)
            elif rank == 2:
                dist.recv(box, src=0)
        """,
        {0, 2},
    ),
    "a first barrier of one of two": (
        2,
        """
        if rank == 0:
            dist.barrier()
        """,
        {0},
    ),
    "a group that one rank leaves out": (
        3,
        """
        if rank != 2:
            dist.new_group([0, 1])
        dist.new_group([0, 1, 2])
        """,
        {2},
    ),
    "a broadcast of objects from two sources": (
        3,
        """
        names = [f"run-{rank}"]
        dist.broadcast_object_list(names, src=1 if rank == 1 else 0)
        """,
        {1},
    ),
    "a file lock held inside a barrier": (
        3,
        """
        with open(sys.argv[1], "w") as file:
            if rank == 2:
                fcntl.flock(file, fcntl.LOCK_EX)
                dist.barrier()
            elif rank == 0:
                time.sleep(1)
                fcntl.flock(file, fcntl.LOCK_EX)
            dist.barrier()
        """,
        {0, 2},
    ),
    "a queue that nobody empties": (
        3,
        """
        if rank == 1:
            waiting = queue.Queue()
            waiting.put(1)
            waiting.join()
        """,
        {1},
    ),
    "a mark that a rank which is through has not left": (
        3,
        """
        mark = sys.argv[1] + f".{rank}"
        if rank == 1:
            os._exit(0)
        open(mark, "w").close()
        until = time.time() + 60
        while not os.path.exists(sys.argv[1] + ".1"):
            if time.time() > until:
                raise TimeoutError("a part is missing")
            time.sleep(0.4)
        """,
        {1},
    ),
    "parts that two stages count differently": (
        2,
        """
        box = torch.zeros(8)
        parts = [dist.isend(box, 1 - rank) for _ in range(3)]
        parts += [dist.irecv(box.clone(), 1 - rank) for _ in range(4)]
        for part in parts:
            part.wait()
        """,
        {0, 1},
    ),
    "two groups that one of two takes in another order": (
        2,
        """
        pair = [dist.new_group([0, 1]) for _ in range(2)]
        for number in range(30):
            for group in pair if (number, rank) != (20, 1) else reversed(pair):
                dist.all_reduce(torch.ones(4), group=group)
        """,
        {1},
    ),
    "an endless loop of tensor operations": (
        3,
        """
        def draw():
            while torch.rand(64).mean() < 2:
                pass
        if rank == 0:
            draw()
        """,
        {0},
    ),
}


def run(
    folder: Path, body: str, ranks: int, *options: str, limit_s: int = 600
) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code and events of a job under the judge, and what was printed."""
    script = folder / "job.py"
    head = HEAD.replace("LIMIT", str(limit_s))
    script.write_text(head + textwrap.dedent(body) + TAIL)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "unhang", "run", "--out", str(folder / "run")),
            *("--on-hang", "abort", *options, "--"),
            *launched(ranks, script, str(folder / "lock")),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = (folder / "run" / "events.jsonl").read_text().splitlines()
    return done.returncode, [json.loads(line) for line in lines], done.stdout + done.stderr


@pytest.mark.parametrize("name", HEALTHY)
def test_a_job_that_is_well_is_never_ended(name: str, tmp_path: Path) -> None:
    """Its own limit of 12 s would have ended it."""
    code, events, output = run(tmp_path, HEALTHY[name], 3, "--timeouts", "judge", limit_s=12)
    kinds = {event["kind"] for event in events}
    assert (code, kinds & {"hang_confirmed", "aborted"}) == (0, set()), output


@pytest.mark.parametrize("name", HANGS)
def test_a_hang_is_named_and_the_end_says_the_same(name: str, tmp_path: Path) -> None:
    ranks, body, culprits = HANGS[name]
    patience = ("--patience", "12")
    limit_s = 45 if "endless" in name else 600
    code, events, output = run(tmp_path, body, ranks, *patience, limit_s=limit_s)
    assert code != 0
    told = held(events)
    # Which of two is odd their dumps tell. Where these come late, both are suspected until then.
    fair = (culprits, {0, 1} if "one of two" in name else culprits)
    assert set(told[0].get("culprits", [])) in fair, output
    named = told_of(tmp_path / "run")
    assert named == dict.fromkeys(named, culprits), output
    confirmed = [set(e.get("culprits", [])) for e in told if e["kind"] == "hang_confirmed"]
    assert all(who == culprits for who in confirmed), output


def test_who_only_meets_a_call_of_another_size_is_not_blamed(tmp_path: Path) -> None:
    """Gloo ends the process that gets more than it asked for: it asked for the right thing."""
    body = """
        if rank != 1:
            dist.all_reduce(torch.ones(3))
        dist.all_reduce(torch.ones(40_000))
    """
    code, _, output = run(tmp_path, body, 4)
    named = told_of(tmp_path / "run")
    assert code != 0
    assert "op.preamble.length" in output
    assert set().union(*named.values()) <= {1}, named
