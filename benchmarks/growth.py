"""What grows faster than its input: logs of one shape in two sizes, and the CPU time of each.

    python -m benchmarks.growth [--shape sequences] [--size 2000]

Every shape has one thing that there may be many of: ranks, sequence numbers, hosts, restarts. The
second log is four times the first, so its verdict may cost four times as much, and a little more.
Each run has a process of its own; what an empty log costs is taken off.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import run

Shape = Callable[[int], Iterator[str]]
"""From how many there are of it to the lines of a log."""

FACTOR = 4
_UNHANG = str(Path(sys.executable).with_name("unhang"))


def header(rank: int, line: int, second: int = 0) -> str:
    """What a rank of torch 2.6 puts before a line of its C++ part."""
    at = f"E602 15:{second // 60 % 60:02d}:{second % 60:02d}.{rank % 1000:03d}000000"
    return f"[rank{rank}]:[{at} ProcessGroupNCCL.cpp:{line}] "


def timed_out(rank: int, seq: int, op: str = "ALLREDUCE") -> str:
    """A watchdog gives up."""
    return (
        f"{header(rank, 629, seq // 50)}[Rank {rank}] Watchdog caught collective operation timeout:"
        f" WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=9801523, NumelOut=9801523,"
        " Timeout(ms)=600000) ran for 600010 milliseconds before timing out."
    )


def status(rank: int, seq: int) -> str:
    """A rank's counters at its time-out."""
    return (
        f"{header(rank, 2168, seq // 50)}[PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure"
        f" detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {seq},"
        f" last completed work: {seq - 1}"
    )


def raised(rank: int, error: str) -> Iterator[str]:
    """A traceback."""
    yield f"[rank{rank}]: Traceback (most recent call last):"
    yield f'[rank{rank}]:   File "/job/train.py", line 412, in <module>'
    yield f"[rank{rank}]:     main()"
    yield f'[rank{rank}]:   File "/job/train.py", line 388, in main'
    yield f"[rank{rank}]:     loss = step(batch)"
    yield f"[rank{rank}]: {error}"


def cluster(ranks: int) -> Iterator[str]:
    """One log of all ranks of a large job: NCCL's start, steps, time-outs, tracebacks, a table."""
    for rank in range(ranks):
        host, pid = f"gpu-{rank // 8:03d}", 41_000 + rank
        nccl = f"{host}:{pid}:{pid + 900} [{rank % 8}] NCCL INFO "
        yield nccl + f"Bootstrap: Using eth0:10.1.{rank // 8}.7<0>"
        yield nccl + "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.1.0.7<0>"
        yield nccl + "Using network IB"
        yield nccl + (
            f"comm 0x55{rank:06x} rank {rank} nranks {ranks} cudaDev {rank % 8} nvmlDev {rank % 8}"
            f" busId {rank % 8}b000 commId 0x8d1e4f - Init START"
        )
        for channel in range(4):
            peer = (rank + 1) % ranks
            yield nccl + (
                f"Channel {channel:02d}/0 : {rank}[{rank % 8}] -> {peer}[{peer % 8}] [send] via"
                f" NET/IB/{channel}/GDRDMA"
            )
        yield nccl + (
            f"comm 0x55{rank:06x} rank {rank} nranks {ranks} cudaDev {rank % 8} nvmlDev {rank % 8}"
            f" busId {rank % 8}b000 commId 0x8d1e4f - Init COMPLETE"
        )
    for step in range(200):
        yield f"step {step}/1000 loss {2 + step % 7 / 10:.3f}"
    for rank in range(1, ranks):
        yield timed_out(rank, 808)
        yield status(rank, 808)
        yield from raised(rank, "torch.distributed.DistBackendError: NCCL communicator was aborted")
    for rank in range(1, ranks):
        yield (
            f"[{rank}]:  time      : 2026-06-02_15:42:{rank % 60:02d} rank : {rank} (local_rank:"
            f" {rank % 8}) exitcode : -6 (pid: {41_000 + rank})"
        )


def sequences(ranks: int) -> Iterator[str]:
    """Each rank gives up on a sequence number of its own."""
    for rank in range(ranks):
        yield timed_out(rank, 1_000 + rank)
        yield status(rank, 1_000 + rank)


def one_call(ranks: int) -> Iterator[str]:
    """All give up on the same call."""
    for rank in range(ranks):
        yield timed_out(rank, 808)
        yield status(rank, 808)


def rdma(hosts: int) -> Iterator[str]:
    """Each host tells of a peer that did not answer."""
    for host in range(hosts):
        name = f"gpu-{host:05d}"
        yield (
            f"{name}:4107{host % 10}:41190 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got"
            f" completion from peer 10.{host >> 16}.{host >> 8 & 255}.{host & 255}<4> with"
            " status=12 opcode=1 len=0 vendor err 129 (Recv) hca mlx5_3"
        )


def tracebacks(ranks: int) -> Iterator[str]:
    """Each rank raises an error of its own."""
    for rank in range(ranks):
        yield from raised(rank, f"ValueError: sample {rank} has no label")


def steps(ranks: int) -> Iterator[str]:
    """Each rank prints its bar, and one of them saves."""
    for rank in range(ranks):
        yield f"[rank{rank}]: Training:  12%|#         | {rank % 90}/1000 [00:12<01:40,  8.8it/s]"
        yield f"[rank{rank}]: Saving model checkpoint to /ckpt/checkpoint-{rank}"
    yield timed_out(1, 808)


def ends(ranks: int) -> Iterator[str]:
    """The launcher ends each rank and tells of each."""
    for rank in range(ranks):
        yield (
            f"W0602 15:41:{rank % 60:02d}.000000 4242 torch/distributed/elastic/multiprocessing/"
            f"api.py:900] Sending process {40_000 + rank} closing signal SIGTERM"
        )
    for rank in range(ranks):
        yield (
            f"E0602 15:42:{rank % 60:02d}.000000 4242 torch/distributed/elastic/multiprocessing/"
            f"api.py:874] failed (exitcode: -9) local_rank: {rank % 8} (pid: {40_000 + rank}) of"
            " binary: /usr/bin/python3"
        )


def restarts(count: int) -> Iterator[str]:
    """The launcher begins anew again and again."""
    for start in range(count):
        yield timed_out(start % 8, 808)
        yield (
            f"I0602 15:42:{start % 60:02d}.000000 4242 torch/distributed/elastic/agent/server/"
            f"api.py:875] [default] Worker group FAILED. {count - start}/{count} attempts left;"
            " will restart worker group"
        )


def kernel(count: int) -> Iterator[str]:
    """A kernel log of many processes that were killed."""
    for end in range(count):
        yield (
            f"[{523_602 + end}.980286] gpu-01 kernel: Out of memory: Killed process"
            f" {5_000 + end} (python{end % 7}) total-vm:91234567kB, anon-rss:81234567kB,"
            " file-rss:0kB, shmem-rss:0kB, UID:1000"
        )
    yield timed_out(1, 808)


def gloo(ranks: int) -> Iterator[str]:
    """Connections that peers closed."""
    for rank in range(ranks):
        yield from raised(
            rank,
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection"
            f" closed by peer [10.0.{rank >> 8 & 255}.{rank & 255}]:5{rank % 9999:04d}",
        )


def store(ranks: int) -> Iterator[str]:
    """Ranks that wait for the id of a communicator."""
    for rank in range(1, ranks):
        yield from raised(
            rank,
            f"torch.distributed.DistBackendError: [{rank}] is setting up NCCL communicator and"
            f" retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but"
            f" store->get('0') got error: Timeout waiting for key: default_pg/0//cuda//0 after"
            " 600000 ms",
        )


def stacks(ranks: int) -> Iterator[str]:
    """A stack of each rank."""
    for rank in range(ranks):
        yield f"[rank{rank}]: Thread 0x00007f{rank:010x} (most recent call first):"
        yield f'[rank{rank}]:   File "/job/train.py", line {rank % 400}, in step'
        yield f'[rank{rank}]:   File "/job/train.py", line 412, in <module>'


def groups(ranks: int) -> Iterator[str]:
    """Tensor-parallel groups of eight: each gives up on a call of its own, two ranks are behind."""
    for rank in range(ranks):
        group, seq = rank // 8, 800 + rank // 8 - (rank % 8 == 0)
        yield timed_out(rank, seq)
        yield (
            f"{header(rank, 2168)}[PG ID 3 PG GUID {100 + group}(mesh_tp) Rank {rank % 8}]  failure"
            f" detected by watchdog at work sequence id: {seq} PG status: last enqueued work:"
            f" {seq}, last completed work: {seq - 1}"
        )


def desync(ranks: int) -> Iterator[str]:
    """Each rank prints a desync report of its own call."""
    for rank in range(ranks):
        yield timed_out(rank, 1_000)
        yield (
            f"{header(rank, 1_200)}\t - To our best knowledge, the lagging/dead/mismatched ranks"
            " that caused the desync are:"
        )
        yield f"\t   - [{rank + 1}] finished collective #999, but didn't join collective #1000"


def dumps(ranks: int) -> Iterator[str]:
    """Each rank dumps because another one told it to."""
    yield timed_out(0, 808)
    for rank in range(1, ranks):
        yield (
            f"{header(rank, 1_683)}[PG ID 0 PG GUID 0(default_pg) Rank {rank}] Received a dump"
            f" signal due to a collective timeout from  rank {rank - 1} and we will try our best to"
            f" dump the debug info. Last enqueued NCCL work: {rank}, last completed NCCL work:"
            f" {rank - 1}."
        )


def barriers(ranks: int) -> Iterator[str]:
    """Ranks that wait in a monitored barrier."""
    yield from raised(
        0, "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 3000 ms"
    )
    for rank in range(2, ranks):
        yield from raised(
            rank,
            f"RuntimeError: Rank {rank} successfully reached monitoredBarrier, but received errors"
            " while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.",
        )


SHAPES: dict[str, tuple[Shape, int]] = {
    "cluster": (cluster, 512),
    "sequences": (sequences, 2_000),
    "one_call": (one_call, 2_000),
    "rdma": (rdma, 2_000),
    "tracebacks": (tracebacks, 1_000),
    "steps": (steps, 2_000),
    "ends": (ends, 2_000),
    "restarts": (restarts, 1_000),
    "kernel": (kernel, 2_000),
    "gloo": (gloo, 1_000),
    "store": (store, 1_000),
    "stacks": (stacks, 1_000),
    "groups": (groups, 2_000),
    "desync": (desync, 1_000),
    "dumps": (dumps, 2_000),
    "barriers": (barriers, 1_000),
}
"""Each shape with a size that costs enough to be measured."""


def write(shape: Shape, size: int, folder: Path) -> Path:
    """Write the log of a shape, and return it."""
    path = folder / "job.log"
    path.write_text("\n".join(shape(size)) + "\n", encoding="utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, action="append", help="only this one")
    parser.add_argument("--size", type=int, help="of the smaller log, where not its usual one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unhang-growth-") as name:
        folder = Path(name)
        (folder / "job.log").write_text("nothing\n", encoding="utf-8")
        empty = run([_UNHANG, "diagnose", name]).cpu_seconds
        print(
            "| shape | size | MB | CPU s | CPU s per MB | growth |\n|---|---:|---:|---:|---:|---:|"
        )
        for shape in options.shape or SHAPES:
            write_lines, usual = SHAPES[shape]
            before = None
            for size in (options.size or usual, FACTOR * (options.size or usual)):
                megabytes = write(write_lines, size, folder).stat().st_size / 1e6
                used = run([_UNHANG, "diagnose", name]).cpu_seconds - empty
                growth = "" if before is None else f"{used / before:.1f}"
                print(
                    f"| {shape} | {size:,} | {megabytes:.2f} | {used:.2f}"
                    f" | {used / megabytes:.2f} | {growth} |",
                    flush=True,
                )
                before = used


if __name__ == "__main__":
    main()
