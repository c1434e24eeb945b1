"""The probe inside real jobs: what it shows, what it leaves alone, and what it does to timeouts."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from integration.launch import launched
from integration.probed_jobs import HOST, Run, job, torchrun, until
from support.needs import NEEDS_TORCH
from unhang.live.agent import kernel
from unhang.live.agent.board_reader import BoardReader
from unhang.live.messages.reports import Beat
from unhang.probe import environment
from unhang.probe.freeze import SIGNAL

pytestmark = [pytest.mark.integration, NEEDS_TORCH]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def script(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    return path


TRAIN = """
import datetime, re, sys, time
import sitecustomize
assert sitecustomize.MINE == 7
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

class Slow(list):
    def __getitem__(self, item):
        time.sleep(0.5)
        return item

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=100))
rank = dist.get_rank()
pair = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=70), group_desc="pair")
alone = dist.new_group([1], group_desc="alone")
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    weight.grad = torch.ones(3)
    dist.all_reduce(weight.grad)
    optimizer.step()
for item in DataLoader(Slow(range(6)), num_workers=1):
    pass
dist.all_reduce(torch.ones(1), group=pair)
if rank == 1:
    re.match("(a+)+$", "a" * 40 + "b")  # holds the GIL for hours
dist.all_reduce(torch.ones(1), group=pair)
"""


def test_a_job_with_a_frozen_rank_shows_on_its_boards(run: Run, tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "sitecustomize.py").write_text("MINE = 7\n")
    environ = {"PYTHONPATH": str(tmp_path / "user")}
    command = torchrun(2, script(tmp_path, TRAIN))
    with job(run, *command, environ=environ):

        def waiting() -> Beat | None:
            beat = run.beats().get(0)
            if beat is None:
                return None
            counts = {g.desc: (g.enqueued, g.completed) for g in beat.groups.values()}
            # What has completed is told some time later, group by group.
            return beat if counts == {"default_pg": (3, 3), "pair": (2, 1)} else None

        beat = until(waiting, within_s=200)
        frozen = run.beats()[1]
        reader = BoardReader(run.folder.boards, HOST)
        text = until(lambda: frozen_stack(run, reader, frozen.pid), within_s=200)
        folder = run.order(4)
        mark = until(lambda: next(folder.glob(f"done_{HOST}-{beat.pid}"), None), within_s=200)
        served = until(lambda: run.beats()[0].dumped, within_s=200)
        boards = list(run.folder.boards.iterdir())

    assert_whole(beat)
    assert {g.desc for g in frozen.groups.values()} == {"default_pg", "pair", "alone"}
    assert 'train.py", line 28 in <module>' in text
    # Neither the launcher nor the workers of the loaders have a board.
    assert len(boards) == 2
    assert served == 4
    assert json.loads(mark.read_text()) == []
    stacks = (folder / "stack_0.txt").read_text()
    assert stacks.startswith(f"=== Rank 0 (pid {beat.pid}) ===\n")
    assert 'train.py", line 29 in <module>' in stacks
    trace = pickle.loads((folder / "trace_0.pickle").read_bytes())
    assert [e["profiling_name"] for e in trace["entries"]] == ["gloo:all_reduce"] * 5
    assert any(frame["name"] == "<module>" for frame in trace["entries"][0]["frames"])


def assert_whole(beat: Beat) -> None:
    groups = {group.desc: group for group in beat.groups.values()}
    assert groups["pair"].ranks == (0, 1)
    assert groups["pair"].timeout_ms == groups["pair"].user_timeout_ms == 70_000
    assert groups["default_pg"].timeout_ms == 100_000
    assert groups["default_pg"].completed == 3
    assert "alone" not in groups
    assert (beat.rank, beat.local_rank, beat.world_size, beat.restart) == (0, 0, 2, 0)
    assert beat.steps == 3
    assert beat.stack[0].function == "all_reduce"
    assert beat.stack[-1].function == "<module>"
    assert beat.lost == ()
    assert beat.torch is not None
    assert beat.rss_bytes is not None
    assert beat.rss_bytes > 50_000_000


def frozen_stack(run: Run, reader: BoardReader, pid: int) -> str | None:
    """What a rank left that the reader found frozen, once its outermost frame is written."""
    reader.read(launcher_alive=True)
    text = (run.folder.stacks / f"{HOST}-{pid}.txt").read_text()
    return text if "in <module>\n" in text else None


LATE = """
import datetime, sys, time
import torch
import torch.distributed as dist

limit = datetime.timedelta(seconds=3)
dist.init_process_group("gloo", timeout=limit)
rank = dist.get_rank()
made = {"default": None, "sub": dist.new_group([0, 1], timeout=limit)}
dist.all_reduce(torch.ones(1))
for name in sys.argv[1:]:
    if name == "changed":
        made[name] = dist.new_group([0, 1])
        dist.distributed_c10d._set_pg_timeout(limit, made[name])
        dist.barrier()
    if rank == 1:
        time.sleep(5)
    dist.all_reduce(torch.ones(1), group=made[name])
print("FINISHED", flush=True)
"""


def test_under_the_judge_late_ranks_of_all_groups_finish(run: Run, tmp_path: Path) -> None:
    command = launched(2, script(tmp_path, LATE), "default", "sub", "changed")[1:]
    run.heart()
    with job(run, *command, timeouts="judge", environ={"UNHANG_DEADMAN_S": "1000"}) as process:
        beat = until(lambda: at_work(run, groups=3), within_s=200)
        output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output
    assert output.count("FINISHED") == 2
    assert {g.timeout_ms for g in beat.groups.values()} == {environment.LONG_LIMIT_MS}
    assert {g.user_timeout_ms for g in beat.groups.values()} == {3000}


def at_work(run: Run, *, groups: int) -> Beat | None:
    beat = run.beats().get(0)
    return beat if beat is not None and len(beat.groups) == groups else None


def test_without_it_the_same_job_dies(run: Run, tmp_path: Path) -> None:
    with job(run, *launched(2, script(tmp_path, LATE), "sub")[1:]) as process:
        output, _ = process.communicate(timeout=200)
    assert process.returncode != 0
    assert "Timed out waiting 3000ms" in output
    beat = run.beats()[0]
    assert beat.state == "raising"
    assert beat.exception is not None
    assert "Timed out waiting 3000ms" in beat.exception.message
    assert beat.exception.stack[-1].function == "<module>"


HUNG = """
import datetime, time
import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=6))
dist.all_reduce(torch.ones(1))
if dist.get_rank() == 1:
    time.sleep(600)
dist.all_reduce(torch.ones(1))
"""


def test_the_dead_mans_switch_gives_the_limits_back(run: Run, tmp_path: Path) -> None:
    def limit_is(wanted_ms: int, *, judged: bool = True) -> bool | None:
        if judged:
            run.heart()
        beat = run.beats().get(1)
        return (beat is not None and {wanted_ms} == limits(beat)) or None

    environ = {"UNHANG_DEADMAN_S": "5"}
    run.heart()
    with job(
        run, *torchrun(2, script(tmp_path, HUNG)), timeouts="judge", environ=environ
    ) as process:
        until(lambda: limit_is(environment.LONG_LIMIT_MS), within_s=200)
        until(lambda: limit_is(6000, judged=False), within_s=200)  # the judge is silent
        until(lambda: limit_is(environment.LONG_LIMIT_MS), within_s=200)
        for _ in range(80):  # by now the operation has waited for longer than its own limit
            run.heart()
            time.sleep(0.1)
        silent = time.monotonic()
        output, _ = process.communicate(timeout=200)
        took_s = time.monotonic() - silent
    assert process.returncode != 0
    assert "[unhang] rank 0: collective 2 of group 0 has been waiting for" in output
    assert f"exitcode: {-signal.SIGABRT}" in output.replace(" ", "").replace(
        "exitcode:", "exitcode: "
    )
    assert took_s > 10, "its limit counts anew: a judge that was away for a moment ends nothing"
    folder = run.folder.root / "dumps" / "deadman"
    assert 'train.py", line 10 in <module>' in (folder / "stack_0.txt").read_text()
    assert (folder / "trace_0.pickle").exists()


def limits(beat: Beat) -> set[int | None]:
    return {group.timeout_ms for group in beat.groups.values()}


SPAWNED = """
import os, subprocess, sys, time
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    dist.barrier()
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.1)

if __name__ == "__main__":
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    port = str(store.port)
    del store
    mp.start_processes(work, (port,), nprocs=2, start_method=sys.argv[1])
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_spawned_and_forked_ranks_have_boards(run: Run, tmp_path: Path, method: str) -> None:
    over = tmp_path / "over"
    with job(run, str(script(tmp_path, SPAWNED)), method, str(over)) as process:
        until(lambda: set(run.beats()) == {0, 1}, within_s=200)
        over.touch()
        output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output
    assert len(list(run.folder.boards.iterdir())) == 2


CHURN = """
import time

def deep(levels):
    return levels and deep(levels - 1)

end = time.monotonic() + 6
while time.monotonic() < end:
    deep(80)
print("FINISHED")
"""


def test_being_stopped_again_and_again_does_no_harm(run: Run, tmp_path: Path) -> None:
    # As one that froze and goes on while it is asked for its stack: Python code runs meanwhile.
    environ = {"RANK": "0", "UNHANG_INTERVAL_S": "0.02"}
    with job(run, str(script(tmp_path, CHURN)), environ=environ) as process:
        until(lambda: run.beats() or None, within_s=200)
        while process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.1)
            kernel.send_if_caught(process.pid, SIGNAL)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.1)
        output, _ = process.communicate(timeout=200)
    assert (process.returncode, output.split()) == (0, ["FINISHED"])


CHILD = "import sys; print('_unhang_probe' in sys.modules)"


@pytest.mark.parametrize(
    ("options", "inside"),
    [((), "True"), (("-S",), "False"), (("-I",), "False"), (("-E",), "False")],
)
def test_isolated_interpreters_stay_without(
    run: Run, options: tuple[str, ...], inside: str
) -> None:
    with job(run, *options, "-c", CHILD, environ={"RANK": "0"}) as process:
        output, _ = process.communicate(timeout=200)
    assert (process.returncode, output.split()) == (0, [inside])


def test_nothing_happens_outside_a_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={"PYTHONPATH": environment.SITE, "RANK": "0"},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert done.stdout.split() == ["False"]
    assert done.stderr == ""


def test_a_run_folder_that_is_gone_costs_nothing(tmp_path: Path) -> None:
    environ = {"PYTHONPATH": environment.SITE, "RANK": "0", "UNHANG_RUN": str(tmp_path / "gone")}
    done = subprocess.run(
        [sys.executable, "-c", "import time; time.sleep(0.3); print('trained')"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert done.stdout.split() == ["trained"]
    assert done.stderr == ""
