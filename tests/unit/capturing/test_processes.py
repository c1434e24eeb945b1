"""Who is a rank, who launched it, and who works for it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unhang.capturing.processes import JobProcess, ProcessRole, find_below, find_run, with_roles
from unhang.errors import UsageError


def process(pid: int, parent: int, words: str, **environment: str) -> JobProcess:
    return JobProcess(
        pid=pid,
        parent=parent,
        state="S",
        name="x",
        started_s=0.0,
        words=tuple(words.split()),
        environment=environment,
    )


def roles(*processes: JobProcess) -> dict[int, tuple[str, int | None]]:
    return {p.pid: (p.role.value, p.rank) for p in with_roles(processes)}


def test_torchrun_its_ranks_and_their_loaders() -> None:
    assert roles(
        process(1, 0, "/venv/bin/python /venv/bin/torchrun train.py"),
        process(2, 1, "python -u train.py", RANK="0", LOCAL_RANK="0"),
        process(3, 1, "python -u train.py", RANK="5", LOCAL_RANK="1"),
        process(4, 2, "python -u train.py", RANK="0", LOCAL_RANK="0"),
        process(5, 4, "ptxas", RANK="0"),
    ) == {
        1: ("launcher", None),
        2: ("rank", 0),
        3: ("rank", 5),
        4: ("loader", 0),
        5: ("loader", 0),
    }


def test_a_launcher_that_has_inherited_a_rank_is_none() -> None:
    assert roles(
        process(1, 0, "srun torchrun train.py"),
        process(2, 1, "python /venv/bin/torchrun train.py", SLURM_PROCID="1"),
        process(3, 2, "python -u train.py", SLURM_PROCID="1", RANK="8"),
        process(4, 2, "python -u train.py --deepspeed zero3.json", SLURM_PROCID="1", RANK="9"),
    ) == {1: ("launcher", None), 2: ("launcher", None), 3: ("rank", 8), 4: ("rank", 9)}


def test_a_shell_that_starts_a_rank_is_none() -> None:
    assert roles(
        process(1, 0, "/bin/bash run.sh", SLURM_PROCID="1"),
        process(2, 1, "numactl -N 0 python train.py", SLURM_PROCID="1"),
        process(3, 2, "/opt/conda/bin/python3.11 train.py", SLURM_PROCID="1"),
        process(4, 3, "/opt/conda/bin/python3.11 train.py", SLURM_PROCID="1"),
        process(5, 3, "nvcc x.cu", SLURM_PROCID="1"),
    ) == {
        1: ("launcher", None),
        2: ("launcher", None),
        3: ("rank", 1),
        4: ("loader", 1),
        5: ("loader", 1),
    }


def test_a_rank_that_is_no_python_is_one_all_the_same() -> None:
    assert roles(process(1, 0, "./all_reduce_perf -g 1", RANK="2"))[1] == ("rank", 2)


def test_modules_that_launch() -> None:
    assert roles(process(1, 0, "python -m torch.distributed.run train.py", RANK="0"))[1] == (
        "launcher",
        None,
    )
    assert roles(process(1, 0, "python -m my.train", RANK="0"))[1] == ("rank", 0)


def test_processes_without_a_rank_are_others() -> None:
    assert roles(process(1, 0, "python train.py"), process(2, 1, "python train.py")) == {
        1: ("other", None),
        2: ("other", None),
    }


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A launcher with two ranks, one of them with a child of its own."""
    sleep = "import time; time.sleep(60)"
    with_child = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleep!r}]); {sleep}"
    )
    launcher = (
        "import os, subprocess, sys\n"
        f"for rank, code in enumerate(({sleep!r}, {with_child!r})):\n"
        "    environment = {**os.environ, 'RANK': str(rank), 'LOCAL_RANK': str(rank)}\n"
        "    subprocess.Popen([sys.executable, '-c', code], env=environment)\n"
        f"print('up', flush=True)\n{sleep}\n"
    )
    environment = {**os.environ, "UNHANG_RUN": str(tmp_path)}
    started = subprocess.Popen(
        [sys.executable, "-c", launcher],
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    assert started.stdout is not None
    started.stdout.readline()
    _await(lambda: len(find_below([started.pid])) == 4)
    yield started
    os.killpg(started.pid, 9)
    started.wait()
    started.stdout.close()


def _await(holds: Callable[[], bool]) -> None:
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never held")


@pytest.mark.process
def test_the_tree_below_a_launcher_is_found(tree: subprocess.Popen[bytes]) -> None:
    found = find_below([tree.pid])
    assert sorted((p.role.value, p.rank) for p in found if p.role is not ProcessRole.LAUNCHER) == [
        ("loader", 1),
        ("rank", 0),
        ("rank", 1),
    ]
    assert [p.pid for p in found if p.role is ProcessRole.LAUNCHER] == [tree.pid]
    assert all(abs(p.started_s - time.time()) < 60 for p in found)


@pytest.mark.process
def test_the_processes_of_a_run_are_found_by_their_environment(
    tree: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    assert {p.pid for p in find_run(tmp_path)} == {p.pid for p in find_below([tree.pid])}
    assert find_run(tmp_path / "another") == ()


def test_a_pid_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no process 4194999"):
        find_below([4194999])


def test_a_system_without_proc_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a capture needs Linux"):
        find_below([1], tmp_path / "none")
