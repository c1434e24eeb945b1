"""What another job printed when it failed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from fuzz.invented.words import BITS, HOSTS, MODULES, Lines


def _trace(r: random.Random, error: str, mark: str = "") -> Lines:
    name, word = r.choice(MODULES), r.choice(BITS)
    lines = [
        "Traceback (most recent call last):",
        f'  File "/{word}/{name}.py", line {r.randrange(20, 900)}, in <module>',
        "    main()",
        f'  File "/{word}/{name}.py", line {r.randrange(20, 900)}, in main',
        "    trainer.train()",
        error,
    ]
    return [mark + line for line in lines]


def _oom(r: random.Random) -> str:
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {r.randrange(1, 9)}."
        f"{r.randrange(10, 99)} GiB. GPU {r.randrange(8)} has a total capacity of 79.15 GiB of "
        f"which {r.randrange(9, 900)}.12 MiB is free."
    )


def _watchdog(r: random.Random) -> str:
    rank, limit = r.randrange(16), r.choice((600, 1800))
    return (
        f"[rank{rank}]:[E{r.randrange(101, 1130):04} 0{r.randrange(10)}:12:44."
        f"{r.randrange(10**9):09} ProcessGroupNCCL.cpp:{r.randrange(500, 700)}] [Rank {rank}] "
        "Watchdog caught collective operation timeout: "
        f"WorkNCCL(SeqNum={r.randrange(9_999)}, OpType=ALLREDUCE, "
        f"NumelIn=4096, NumelOut=4096, Timeout(ms)={limit}000) ran for "
        f"{limit}0{r.randrange(10, 99)} milliseconds before timing out."
    )


def _table(r: random.Random) -> Lines:
    rank = r.randrange(8)
    return [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "=" * 60,
        f"{r.choice(MODULES)}.py FAILED",
        "-" * 60,
        "Failures:",
        "  <NO_OTHER_FAILURES>",
        "-" * 60,
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : 2026-0{r.randrange(1, 9)}-1{r.randrange(9)}_10:01:58",
        f"  host      : {r.choice(HOSTS)}{r.randrange(99)}",
        f"  rank      : {rank} (local_rank: {rank})",
        f"  exitcode  : -{r.choice((6, 9, 11))} (pid: {r.randrange(900, 90000)})",
        "  error_file: <N/A>",
        "  traceback : Signal 9 (SIGKILL) received by PID 1",
        "=" * 60,
    ]


FAILURES: Mapping[str, Callable[[random.Random], Lines]] = {
    "memory": lambda r: _trace(r, _oom(r)),
    "memory of a rank": lambda r: _trace(r, _oom(r), f"[rank{r.randrange(8)}]: "),
    "memory, one line": lambda r: [_oom(r)],
    "watchdog": lambda r: [_watchdog(r)],
    "watchdogs": lambda r: [_watchdog(r), _watchdog(r)],
    "table": _table,
    "kernel fault": lambda r: _trace(
        r, "RuntimeError: CUDA error: an illegal memory access was encountered"
    ),
    "nccl": lambda r: _trace(
        r,
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/"
        f"ProcessGroupNCCL.cpp:{r.randrange(900, 3000)}, unhandled system error (run with "
        "NCCL_DEBUG=INFO for details), NCCL version 2.21.5",
    ),
    "code": lambda r: _trace(r, f"KeyError: '{r.choice(BITS)}'"),
    "xid": lambda r: [
        f"[{r.randrange(9, 99999)}.{r.randrange(10**6):06}] NVRM: Xid (PCI:0000:"
        f"{r.randrange(16, 255):02x}:00): {r.choice((79, 48, 94))}, "
        f"pid={r.randrange(900, 90000)}, name=python, Ch 00000008"
    ],
    "slurm": lambda r: [
        f"slurmstepd: error: Detected {r.randrange(1, 4)} oom_kill event in StepId="
        f"{r.randrange(10**4, 10**6)}.0. Some of the step tasks have been OOM Killed."
    ],
    "srun": lambda r: [
        f"srun: error: {r.choice(HOSTS)}{r.randrange(99)}: task {r.randrange(16)}: Killed",
        f"srun: Terminating StepId={r.randrange(10**4, 10**6)}.0",
    ],
    "agent": lambda r: [
        f"E0{r.randrange(101, 999)} 10:01:58.000000 {r.randrange(900, 90000)} torch/distributed/"
        f"elastic/multiprocessing/api.py:874] failed (exitcode: -{r.choice((9, 11, 6))}) "
        f"local_rank: {r.randrange(8)} (pid: {r.randrange(900, 90000)}) of binary: "
        "/opt/env/bin/python"
    ],
    "segfault": lambda r: [
        "Fatal Python error: Segmentation fault",
        "",
        f"Current thread 0x00007f{r.randrange(16**10):010x} (most recent call first):",
        f'  File "/{r.choice(BITS)}/{r.choice(MODULES)}.py", line {r.randrange(9, 900)} in step',
    ],
    "barrier": lambda r: [
        f"[Rank 0]: Ranks {r.randrange(1, 4)}, {r.randrange(4, 8)} failed to pass monitoredBarrier "
        f"in {r.randrange(1, 9)}0000 ms"
    ],
    "infiniband": lambda r: [
        f"{r.choice(HOSTS)}{r.randrange(99)}:{r.randrange(999, 99999)}:{r.randrange(999, 99999)} "
        f"[{r.randrange(8)}] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
        f"10.0.{r.randrange(9)}.7<43210> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
    ],
}
