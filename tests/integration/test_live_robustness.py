"""Surroundings that make a watched job look ill, or its judge blind: nobody innocent is named."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from integration.launch import launched
from integration.test_own_faults import ABORT, HANG, small_disk, watched
from integration.test_run_watched import (
    UNHANG,
    Nodes,
    agent_of,
    environment,
    events_of,
    free_port,
    kinds_of,
    nodes,
    wait_for,
)
from integration.whom_all_name import held

pytestmark = pytest.mark.integration

__all__ = ["nodes", "small_disk"]  # fixtures

HEAD = """
import datetime, os, subprocess, sys, threading, time
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=600))
rank = dist.get_rank()

def steps(count):
    for _ in range(count):
        dist.all_reduce(torch.ones(4))
        time.sleep(0.1)

steps(20)
"""

SAVES = """
def save():
    with open(sys.argv[1], "wb") as file:
        while not os.path.exists(sys.argv[2]):
            file.write(bytes(1 << 18))
            file.flush()
            os.fsync(file.fileno())
            time.sleep(0.5)
    open(sys.argv[1] + ".whole", "w").close()
if rank == 0:
    threading.Thread(target=save).start()
else:
    time.sleep(3_600)
steps(1)
"""

NESTS = """
if rank == 0:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TORCHELASTIC", "MASTER"))}
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "GROUP_RANK"):
        clean.pop(name, None)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    subprocess.run([*launch, "2", sys.argv[1]], check=True, env=clean)
steps(5)
dist.destroy_process_group()
"""

INNER = """
steps(150)
dist.destroy_process_group()
"""

RAISES = """
if rank == 1:
    raise ValueError("bad data in shard 7")
steps(5)
"""

ASLEEP = """
if rank == 1:
    time.sleep(3_600)
steps(1)
"""


def job(folder: Path, body: str, name: str = "train.py") -> Path:
    path = folder / name
    path.write_text(HEAD + textwrap.dedent(body))
    return path


def named(folder: Path, *kinds: str) -> list[list[int]]:
    return [e.get("culprits", []) for e in events_of(folder) if e["kind"] in kinds]


ENDED = {"hang_confirmed", "aborted"}


@pytest.fixture
def kept_disk(tmp_path: Path) -> Path:
    """A folder whose files go to a device, so that the kernel counts what is stored."""
    probe = tmp_path / "probe"
    before = stored()
    with probe.open("wb") as file:
        file.write(bytes(1 << 20))
        file.flush()
        os.fsync(file.fileno())
    if stored() - before < 1 << 20:
        pytest.skip("files of this folder stay in memory: nothing is ever stored")
    return tmp_path


def stored() -> int:
    rows = Path("/proc/self/io").read_text().splitlines()
    return int(next(row for row in rows if row.startswith("write_bytes")).split()[1])


def test_the_end_of_a_hang_waits_for_a_save_that_moves(kept_disk: Path) -> None:
    folder, kept, last = (kept_disk / name for name in ("run", "checkpoint.pt", "the last part"))
    script = job(kept_disk, SAVES)
    with watched(folder, *launched(2, script, str(kept), str(last))) as process:
        wait_for(lambda: any("still writing" in event["why"] for event in events_of(folder)))
        assert "hang_confirmed" in kinds_of(folder)
        assert "aborted" not in kinds_of(folder)
        last.touch()
        wait_for(lambda: "aborted" in kinds_of(folder))
        assert kept.with_name("checkpoint.pt.whole").exists()
        assert process.wait(200) == 86
    assert named(folder, "hang_confirmed") == [[1]]


def test_a_job_that_a_rank_starts_is_no_part_of_its_own(tmp_path: Path) -> None:
    inner = job(tmp_path, INNER, "inner.py")
    launch = launched(2, job(tmp_path, NESTS), str(inner))
    done = subprocess.run(
        [*UNHANG, "--out", str(tmp_path / "run"), "--on-hang", "abort", "--", *launch],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not ENDED & set(kinds_of(tmp_path / "run"))


def test_a_launcher_that_ends_with_0_hides_no_failure(tmp_path: Path) -> None:
    """As `srun --no-kill` in a batch script whose last command succeeds."""
    launch = " ".join(launched(2, job(tmp_path, RAISES)))
    done = subprocess.run(
        [*UNHANG, "--out", str(tmp_path / "run"), "--", "sh", "-c", f"{launch}; exit 0"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0
    assert named(tmp_path / "run", "exited")[-1] == [1], done.stderr
    assert "bad data in shard 7" in done.stderr


def test_two_nodes_of_one_name_are_two(tmp_path: Path) -> None:
    """Clones, containers, `localhost` everywhere: the hang of one is not held against the other."""
    script, shared, port = job(tmp_path, ASLEEP), tmp_path / "shared", free_port()

    def start(node: int) -> subprocess.Popen[bytes]:
        launch = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--node-rank"]
        launch += [str(node), "--nproc-per-node", "1", "--master-addr", "127.0.0.1"]
        launch += ["--master-port", str(port), str(script)]
        us = ["--out", str(tmp_path / f"run{node}"), "--nodes", "2", "--node-rank", str(node)]
        us += ["--shared", str(shared)]
        return subprocess.Popen(
            [*UNHANG, *us, *ABORT, "--", *launch],
            env=environment(UNHANG_HOST="localhost"),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    both = [start(0), start(1)]
    try:
        codes = [process.wait(300) for process in both]
    finally:
        for process in both:
            process.kill()  # the agent ends the job then
            process.wait()
    assert 86 in codes
    told = [event.get("culprits") for event in held(events_of(tmp_path / "run0"))]
    assert told
    assert all(culprits == [1] for culprits in told)


def test_on_a_disk_that_is_full_from_the_start_a_hang_is_ended_all_the_same(
    small_disk: Path, tmp_path: Path
) -> None:
    fill = small_disk / "full"
    with fill.open("wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
            file.flush()
    os.truncate(fill, fill.stat().st_size - (256 << 10))  # folders can be made, and little more
    script = tmp_path / "train.py"
    script.write_text(HANG.format(before="", after=""))
    done = subprocess.run(
        [*UNHANG, "--out", str(small_disk / "run"), *ABORT, "--", *launched(2, script)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 86, done.stderr
    assert "is full" in done.stderr
    assert "rank 1" in done.stderr


def test_the_successor_of_an_agent_that_was_killed_names_a_hang(tmp_path: Path) -> None:
    folder, script = tmp_path / "run", tmp_path / "train.py"
    script.write_text(HANG.format(before="", after=""))
    with watched(folder, *launched(2, script)) as process:
        wait_for(lambda: "attached" in kinds_of(folder))
        os.kill(agent_of(folder), signal.SIGKILL)
        assert process.wait(300) == 86
    assert named(folder, "hang_confirmed") == [[1]]


LINKED = """
for number in range(120):
    dist.all_reduce(torch.ones(1 << 16))
    print(number, flush=True)
    time.sleep(0.1)
"""


def start_ranks(nodes: Nodes, folder: Path, script: Path) -> list[subprocess.Popen[bytes]]:
    """One rank in each namespace; gloo's bytes and our reports take the same cable."""
    started = []
    for node, name in enumerate(nodes.names):
        env = environment(
            UNHANG_TOKEN="a secret of the nodes",
            UNHANG_HOST=f"node{node}",
            GLOO_SOCKET_IFNAME=f"{name}0",
            MASTER_ADDR="10.77.77.1",
            MASTER_PORT="29778",
            RANK=str(node),
            LOCAL_RANK="0",
            WORLD_SIZE="2",
        )
        command = ["ip", "netns", "exec", name, *UNHANG, "--out", str(folder), "--on-hang", "abort"]
        command += ["--nodes", "2", "--node-rank", str(node)]
        command += ["--collector", "http://10.77.77.1:29777", "--", sys.executable, str(script)]
        out, err = (folder.parent / f"{what}{node}" for what in ("out", "err"))
        with out.open("wb") as printed, err.open("wb") as said:
            started.append(subprocess.Popen(command, env=env, stdout=printed, stderr=said))
    return started


def test_a_cable_that_is_cut_for_a_while_ends_and_blames_nobody(
    tmp_path: Path, nodes: Nodes
) -> None:
    folder = tmp_path / "run"
    both = start_ranks(nodes, folder, job(tmp_path, LINKED))
    try:
        wait_for(lambda: b"\n5\n" in (tmp_path / "out0").read_bytes(), 200)
        nodes.cable("down")
        time.sleep(20)
        nodes.cable("up")
        codes = [process.wait(300) for process in both]
    finally:
        for process in both:
            process.kill()
            process.wait()
    assert codes == [0, 0], (tmp_path / "err0").read_text()
    assert not ENDED & set(kinds_of(folder))
    accused = {rank for ranks in named(folder, "stall_suspected") for rank in ranks}
    assert 0 not in accused, "its host was heard all the time, and it waited"
