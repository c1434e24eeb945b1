"""`unhang run` on real jobs: a hang is named, captured and ended; our own faults harm nobody."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

UNHANG = [sys.executable, "-m", "unhang", "run"]

TRAIN = """
import os, sys, time
if os.environ["TORCHELASTIC_RESTART_COUNT"] != "0":
    # Gloo often fails to connect again after a restart, with unhang and without.
    time.sleep(3)
    sys.exit(print("from the checkpoint", flush=True))
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
for step in range(8):
    if step == 4 and rank == 1:
        if sys.argv[1] == "sleep":
            time.sleep(3600)
        raise ValueError("bad data in shard 7")
    dist.all_reduce(torch.ones(10))
    print("step", step, flush=True)
    time.sleep(0.2)
dist.destroy_process_group()
"""

UNTIL = """
import pathlib, sys, time
n = 0
while not pathlib.Path(sys.argv[1]).exists():
    sum(range(20000)); print(n, flush=True); time.sleep(0.1); n += 1
"""

WORK = """
import pathlib, sys, time
word, events, n = sys.argv[1], pathlib.Path(sys.argv[2], "events.jsonl"), 0
while not (events.exists() and word in events.read_text()):
    sum(range(20000)); print(n, flush=True); time.sleep(0.1); n += 1
"""
"""Until the events of a run tell something."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def torchrun(script: Path, *arguments: str, restarts: int = 0) -> list[str]:
    return [
        *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
        *("--max-restarts", str(restarts), "--master-port", str(free_port())),
        *(str(script), *arguments),
    ]


def events_of(folder: Path) -> list[dict[str, Any]]:
    with contextlib.suppress(FileNotFoundError):
        return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return []


def kinds_of(folder: Path) -> list[str]:
    return [event["kind"] for event in events_of(folder)]


def record_of(folder: Path) -> dict[str, Any]:
    data = json.loads((folder / "run.json").read_text())
    assert isinstance(data, dict)
    return data


def wait_for(condition: Callable[[], object], seconds: float = 200) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return path


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[bytes]]]:
    """An address, and what was posted there."""
    posted: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", posted
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_hang_is_named_captured_and_ended_and_the_launcher_starts_again(
    script: Path, tmp_path: Path, webhook: tuple[str, list[bytes]]
) -> None:
    folder = tmp_path / "run"
    address, posted = webhook
    run = subprocess.run(
        [
            *(
                *UNHANG,
                "--out",
                str(folder),
                "--on-hang",
                "abort",
                "--patience",
                "8",
                "--notify",
                address,
            ),
            *("--", *torchrun(script, "sleep", restarts=1)),
        ],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    kinds = kinds_of(folder)
    expected = ["attached", "hang_confirmed", "aborted", "attached", "exited"]
    found = iter(kinds)
    assert all(kind in found for kind in expected), kinds
    assert kinds.count("captured") == 1
    (hang,) = [event for event in events_of(folder) if event["kind"] == "hang_confirmed"]
    assert hang["culprits"] == [1]
    assert hang["call"]["op"] == "all_reduce"
    assert hang["since_s"] >= 8, "the patience that was asked for"
    verdict = json.loads(next(folder.glob("captures/*/diagnosis.json")).read_text())
    assert verdict["culprits"] == [1]
    assert next(folder.glob("captures/*.unhang.tar.zst")).stat().st_size > 0
    assert run.stdout.count("from the checkpoint") == 2, "the second start went to its end"
    told = [json.loads(text)["kind"] for text in posted]
    assert set(told) == {"stall_suspected", "hang_confirmed"}
    assert told.index("hang_confirmed") == len(told) - 1
    assert b"rank" in posted[0]
    assert "notified" in kinds
    assert "".join(path.read_text() for path in folder.glob("agents/*.log")) == ""


def test_a_job_that_fails_by_itself_gets_its_verdict(script: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = torchrun(script, "raise")
    run = subprocess.run(
        [*UNHANG, "--out", str(folder), "--", *command],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 1
    last = events_of(folder)[-1]
    assert last["kind"] == "exited"
    assert last["cause"] == "rank_exception"
    assert last["culprits"] == [1]
    assert record_of(folder)["outcome"] == "cause"
    assert "ValueError: bad data in shard 7" in run.stderr.partition("ROOT CAUSE")[2]


SAVE = """
import datetime, io, sys, time
import torch, torch.distributed as dist
limit = datetime.timedelta(seconds=9)
dist.init_process_group("gloo", timeout=limit)
team = dist.new_group([0, 1], timeout=limit)
rank = dist.get_rank()
def save_checkpoint():
    end = time.time() + float(sys.argv[1])
    while time.time() < end:
        torch.save(torch.ones(500, 500), io.BytesIO())
for step in range(3):
    if step == 2 and rank == 0:
        save_checkpoint()
    dist.all_reduce(torch.ones(10), group=team)
print("finished", flush=True)
dist.destroy_process_group()
"""


@pytest.mark.parametrize("timeouts", ["keep", "judge"])
def test_a_save_that_outlasts_the_limit_of_a_sub_group(timeouts: str, tmp_path: Path) -> None:
    folder, script = tmp_path / "run", tmp_path / "save.py"
    script.write_text(SAVE)
    # Where the limit holds, the others end the job: what ends before them was no save too long.
    seconds = "120" if timeouts == "keep" else "14"
    run = subprocess.run(
        [*UNHANG, "--out", str(folder), "--timeouts", timeouts, "--", *torchrun(script, seconds)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "hang_confirmed" not in kinds_of(folder)
    if timeouts == "judge":
        assert (run.returncode, run.stdout.count("finished")) == (0, 2)
        assert "timeout_governed" in kinds_of(folder)
    else:
        assert run.returncode == 1
        last = events_of(folder)[-1]
        assert (last["cause"], last["culprits"]) == ("checkpoint_slow", [0])


LAUNCHER = """
import os, signal, subprocess, sys, time
rank = {**os.environ, "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
child = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(300)"]
process = subprocess.Popen(child, env=rank, start_new_session=True)
print("rank", process.pid, flush=True)
events = os.path.join(os.environ["UNHANG_RUN"], "events.jsonl")
while not (os.path.exists(events) and "attached" in open(events).read()):
    time.sleep(0.1)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_ranks_that_outlive_their_launcher_are_ended(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = subprocess.run(
        [*UNHANG, "--out", str(folder), "--", sys.executable, "-c", LAUNCHER],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 128 + signal.SIGKILL
    found = re.search(r"^rank (\d+)$", run.stdout, re.MULTILINE)
    assert found is not None
    assert not Path(f"/proc/{found[1]}").exists()
    assert f"processes {found[1]} outlived their launcher" in run.stderr


def test_the_command_of_on_hang_is_told_about_the_hang(tmp_path: Path, script: Path) -> None:
    folder = tmp_path / "run"
    seen = tmp_path / "seen"
    hook = f"exec:env > {seen}; grep SigBlk /proc/self/status >> {seen}; echo done >> {seen}"
    run = subprocess.Popen(
        [
            *(*UNHANG, "--out", str(folder), "--on-hang", hook, "--patience", "8"),
            *("--", *torchrun(script, "sleep")),
        ],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: seen.exists() and seen.read_text().endswith("done\n"))
    facts = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    assert facts["UNHANG_CULPRITS"] == "1"
    assert facts["UNHANG_RUN_FOLDER"] == str(folder)
    assert "SigBlk:\t0000000000000000" in seen.read_text()
    assert "UNHANG_RUN" not in facts, "a command of the user's is not part of the job"
    run.terminate()
    assert run.wait(200) != 0
    assert events_of(folder)[-1]["kind"] == "exited"


def test_boards_that_are_none_are_told_and_harm_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    work = f"import os, pathlib\nr = pathlib.Path(os.environ['UNHANG_RUN']) / 'boards'\n{WORK}"
    prepare = (
        "(r / 'x-1.board').write_bytes(b'UNHB' + bytes(70000))\n"
        "(r / 'x-2.board').mkdir()\n"
        "(r / 'x-3.board').write_text('nothing of the kind')\n"
        "(r / 'x-4.board').symlink_to('/nowhere')\n"
    )
    code = work.replace("import pathlib, sys, time", prepare + "import pathlib, sys, time")
    run = subprocess.run(
        [*UNHANG, "--out", str(folder), "--", sys.executable, "-c", code, "x-4.board", str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0
    assert run.stdout == "".join(f"{n}\n" for n in range(run.stdout.count("\n")))
    names = {loss["values"].get("name") for loss in record_of(folder)["lost"]}
    assert {"x-2.board", "x-4.board"} <= names


AS_ON_A_NETWORK = """
import sys
from pathlib import Path
from unhang.live import run_options
run_options.choose_near = lambda root, program: Path(sys.argv[2])  # played: no such disk is here
from unhang.live.session import run
sys.exit(run(sys.argv[3:], out=sys.argv[1]))
"""


def test_a_run_folder_on_a_network_disk_gets_what_the_probes_wrote(tmp_path: Path) -> None:
    folder, local = tmp_path / "run", tmp_path / "local"
    job = [sys.executable, "-c", WORK, "attached", str(folder)]
    run = subprocess.run(
        [sys.executable, "-c", AS_ON_A_NETWORK, str(folder), str(local), *job],
        env=environment(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0
    assert run.stdout == "".join(f"{n}\n" for n in range(run.stdout.count("\n")))
    assert len(list((folder / "boards").glob("*.board"))) == 1
    assert not local.exists()


class Nodes:
    """Two network namespaces with a cable between them."""

    def __init__(self) -> None:
        mark = f"uh{os.getpid() % 100000}"
        self.names = (f"{mark}a", f"{mark}b")
        a, b = self.names
        self.ip("link", "add", f"{a}0", "type", "veth", "peer", "name", f"{b}0")
        for number, name in enumerate(self.names, 1):
            self.ip("netns", "add", name)
            self.ip("link", "set", f"{name}0", "netns", name)
            self.ip("-n", name, "addr", "add", f"10.77.77.{number}/24", "dev", f"{name}0")
            self.ip("-n", name, "link", "set", f"{name}0", "up")
            self.ip("-n", name, "link", "set", "lo", "up")

    def ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def start(self, node: int, folder: Path, until: Path) -> subprocess.Popen[bytes]:
        command = [
            *("ip", "netns", "exec", self.names[node], *UNHANG, "--out", str(folder)),
            *("--nodes", "2", "--node-rank", str(node), "--collector", "http://10.77.77.1:29777"),
            *("--", sys.executable, "-c", UNTIL, str(until)),
        ]
        rank = {"RANK": str(node), "LOCAL_RANK": "0", "WORLD_SIZE": "2"}
        env = environment(UNHANG_TOKEN="a secret of the nodes", UNHANG_HOST=f"node{node}", **rank)
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def cable(self, state: str) -> None:
        self.ip("-n", self.names[1], "link", "set", f"{self.names[1]}0", state)

    def close(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", f"{self.names[0]}0"], check=False, capture_output=True)


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    if os.geteuid() != 0:
        pytest.skip("only root can make network namespaces")
    try:
        made = Nodes()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no network namespaces can be made here")
    yield made
    made.close()


def test_a_cut_cable_and_a_killed_collector_harm_nobody(tmp_path: Path, nodes: Nodes) -> None:
    folder = tmp_path / "run"
    over = tmp_path / "over"
    first, second = nodes.start(0, folder, over), nodes.start(1, folder, over)
    wait_for(lambda: kinds_of(folder).count("attached") == 2)
    nodes.cable("down")
    wait_for(lambda: any("node1" in e["why"] for e in events_of(folder) if e["kind"] == "lost"))
    judged = folder / "node-1" / "agents" / "node1.json"
    wait_for(lambda: json.loads(judged.read_text())["judge"] is False)
    nodes.cable("up")
    wait_for(lambda: json.loads(judged.read_text())["judge"] is True)
    os.kill(agent_of(folder), signal.SIGKILL)
    wait_for(lambda: kinds_of(folder).count("attached") >= 4)
    over.touch()
    for run in (first, second):
        assert run.stdout is not None
        numbers = [int(line) for line in run.stdout.read().split()]
        assert numbers == list(range(len(numbers))), "nothing of the output was lost"
        run.stdout.close()
        assert run.wait(200) == 0
    assert "hang_confirmed" not in kinds_of(folder)
    assert "agent_died" in {loss["code"] for loss in record_of(folder)["lost"]}
    (gap,) = [loss for loss in record_of(folder / "node-1")["lost"] if loss["code"] == "judge_gap"]
    assert "could not be reached for" in gap["text"]


def agent_of(folder: Path) -> int:
    """The agent of the run in that folder: the child of its relay that is ours."""
    relay = record_of(folder)["pid"]
    children = Path(f"/proc/{relay}/task/{relay}/children").read_text().split()
    (agent,) = [
        int(child)
        for child in children
        if b"unhang.live.agent.agent" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    return agent
