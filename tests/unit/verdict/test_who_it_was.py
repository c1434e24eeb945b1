"""Lines that prove a rank, each by a grammar of its own; and those that only look like it."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis


def judged(folder: Path, *lines: str) -> Diagnosis:
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    return unhang.diagnose(str(folder / "job.log"))


@pytest.mark.parametrize("host", ["node1", "gx-4.cluster.example.org", "x40c5s4b0n0.hsn.cm.gov"])
def test_the_one_that_no_launcher_ended(host: str, tmp_path: Path) -> None:
    died = "{host}: rank {rank} died from signal {signal}"
    lines = [died.format(host=host, rank=r, signal=s) for r, s in ((256, 11), (0, 15), (96, 15))]
    found = judged(tmp_path, *lines)
    assert found.cause is Cause.RANK_CRASH
    assert found.culprits == {256}


def test_a_command_between_the_rank_and_its_code(tmp_path: Path) -> None:
    line = (
        "Container rank 2 status failed cmd ['/opt/bin/python', '-u', 'fit.py', '-n', '4'] code -9"
    )
    assert judged(tmp_path, "step 9 loss 2.1", line).culprits == {2}


@pytest.mark.parametrize(
    "start",
    [
        "local_rank={n} pid=212{n} seed=7",
        "rank {n} (pid 212{n}) ready",
        "process with pid 212{n} runs as rank {n}",
        "node gx4, pid 212{n}, using GPU {n}.",
    ],
)
def test_a_process_by_what_it_said_at_the_start(start: str, tmp_path: Path) -> None:
    starts = [start.format(n=n) for n in range(4)]
    died = "[gx4:2123 :0:7025] Caught signal 7 (Bus error: nonexistent physical address)"
    closed = [
        f"[2026-03-01 00:52:1{n},000] [INFO] [launch.py:286:sigkill_handler] "
        f"Killing subprocess 212{n}"
        for n in range(4)
    ]
    assert judged(tmp_path, "world size: 4", *starts, died).culprits == {3}
    assert judged(tmp_path, "world size: 4", *starts, died, *closed).culprits == {3}
    other = died.replace("2123", "9999")
    assert judged(tmp_path, "world size: 4", *starts, other).culprits == frozenset()


@pytest.mark.parametrize(("device", "named"), [(5, {13}), (0, set())])
def test_a_gpu_by_its_index_on_a_node(device: int, named: set[int], tmp_path: Path) -> None:
    """A process that sees one GPU alone calls it 0, whichever it is."""
    nodes = [f"node{k}: [INFO] nnodes=2, num_local_procs=8, node_rank={k}" for k in (0, 1)]
    oom = (
        "node1: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. "
        f"GPU {device} has a total capacity of 79.15 GiB of which 1.21 GiB is free."
    )
    assert judged(tmp_path, *nodes, oom).culprits == named
    assert judged(tmp_path, oom).culprits == frozenset(), "nothing tells which node it is"


def test_two_processes_that_ended_alike(tmp_path: Path) -> None:
    lines = (
        "[gx4:7745 :0:8166] Caught signal 7 (Bus error: nonexistent physical address)",
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -7) local_rank: 0 "
        "(pid: 7737) of binary: /usr/bin/python3",
    )
    assert judged(tmp_path, *lines).culprits == frozenset()


def test_who_was_told_that_another_failed(tmp_path: Path) -> None:
    shut = (
        "UnknownError: The runtime has been shut down. This was caused by an exception on one of "
        "the ranks or an attempt to reduce after one of the ranks finished"
    )
    raised = "tensorflow.python.framework.errors_impl.InvalidArgumentError: Key: seq_len. values 0"
    lines = [f"[rank{r}]: {raised if r == 1 else shut}" for r in (2, 0, 3, 1)]
    assert judged(tmp_path, *lines).culprits == {1}


@pytest.mark.parametrize(
    ("times", "after", "cause"),
    [(3, 0, Cause.RDMA_FAULT), (1, 0, None), (3, 2, None)],
)
def test_a_port_that_stays_down(
    times: int, after: int, cause: Cause | None, tmp_path: Path
) -> None:
    head = "n2:2308:2399 [7] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_7:1 "
    down = f"{head}Got async event : port error"
    lines = [down] * times + [f"step {n} loss 2.1" for n in range(after)]
    stop = "KeyboardInterrupt"
    assert judged(tmp_path, "step 0 loss 2.3", *lines, stop).cause is cause


@pytest.mark.parametrize("script", ["run.sh", "/home/me/jobs/go.sbatch", "./start"])
def test_a_shell_names_its_script(script: str, tmp_path: Path) -> None:
    killed = f"{script}: line 12: 33011 Killed                  python fit.py --bs 8"
    found = judged(tmp_path, "step 1 loss 2.1", killed)
    assert found.likely is not None
    assert found.likely.cause is Cause.HOST_OOM


TABLE = """\
[{n}]:
  time      : 2026-05-01_02:53:11
  host      : gpu-7
  rank      : {rank} (local_rank: {rank})
  exitcode  : {code} (pid: 20{rank})
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"""
LAUNCHER = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "


def table(*ranks: int, code: str = "1 ") -> str:
    rows = [TABLE.format(n=n, rank=rank, code=code.strip()) for n, rank in enumerate(ranks)]
    others = ["Failures:", *(rows[1:] or ["  <NO_OTHER_FAILURES>"]), "-" * 60]
    first = ["Root Cause (first observed failure):", rows[0], "=" * 60]
    return "\n".join([LAUNCHER, "=" * 60, "train.py FAILED", "-" * 60, *others, *first])


@pytest.mark.parametrize("marks", ["~~~~~^~~~~", "~~~~~~~~^^^^", '"""select a', "```sql"])
def test_a_source_line_that_looks_like_a_fence_hides_nothing(marks: str, tmp_path: Path) -> None:
    """Python marks a part of a line; a program may begin a text on it."""
    work = [f"Epoch 4: 55%|#####  | {n}/5512 [30:46<25:15, 1.64it/s]" for n in range(5)]
    raised = [
        "[rank5]: Traceback (most recent call last):",
        '[rank5]:   File "/job/dit.py", line 62, in forward',
        "[rank5]:     text = text + embed",
        f"[rank5]:            {marks}",
        "[rank5]: RuntimeError: The size of tensor a (141) must match the size of tensor b (158)",
    ]
    found = judged(tmp_path, *work, *raised, *work[-2:], table(5))
    assert found.cause is Cause.RANK_EXCEPTION
    assert found.culprits == {5}


def test_lines_of_hosts_that_are_not_named_count_nobody_s_local_rank(tmp_path: Path) -> None:
    """Four agents print to one log: a local rank is that of four ranks."""
    started = [
        f"[default{rank % 4}]:| distributed init (rank {rank}): env://, gpu {rank % 4}"
        for rank in range(16)
    ]
    fault = "Process group watchdog thread terminated with exception: CUDA error: "
    ended = f"[default0]:  what():  [PG 0 (default_pg) Rank 12] {fault}uncorrectable ECC error"
    found = judged(tmp_path, *started, f"[default0]:[rank12]: RuntimeError: {ended[50:]}", ended)
    assert found.culprits == {12}


def test_those_that_ran_out_of_memory_unless_all_did(tmp_path: Path) -> None:
    def out_of_memory(rank: int) -> str:
        return (
            f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate"
            f" 136.00 MiB. GPU {rank} has a total capacity of 39.39 GiB of which 64.31 MiB is free."
        )

    size = (
        "[Gloo] Rank 0 is connected to 2 peer ranks. Expected number of connected peer ranks is : 2"
    )
    assert judged(tmp_path, size, out_of_memory(1), out_of_memory(2)).culprits == {1, 2}
    assert judged(tmp_path, size, *map(out_of_memory, range(3))).culprits == frozenset()


def test_the_process_whose_loader_workers_died(tmp_path: Path) -> None:
    lines = [
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient"
        " shared memory (shm).",
        "RuntimeError: DataLoader worker (pid 262) is killed by signal: Bus error. It is possible"
        " that dataloader's workers are out of shared memory.",
    ]
    found = judged(tmp_path, *lines, "ERROR:composer.cli.launcher:Rank 4 crashed with exit code 1.")
    assert (found.cause, {int(r) for r in found.culprits}) == (Cause.SHM_SMALL, {4})
    both = judged(tmp_path, *lines, table(1, 4))
    assert (both.cause, {int(r) for r in both.culprits}) == (Cause.SHM_SMALL, set())


def test_those_killed_on_the_host_whose_memory_ran_out(tmp_path: Path) -> None:
    told = "srun: error: {host}: task 1: Out Of Memory"
    killed = table(3, 6, code="-9")
    found = judged(tmp_path, killed, told.format(host="gpu-7"))
    assert (found.cause, {int(r) for r in found.culprits}) == (Cause.HOST_OOM, {3, 6})
    assert judged(tmp_path, killed, told.format(host="gpu-9")).culprits != {3, 6}
