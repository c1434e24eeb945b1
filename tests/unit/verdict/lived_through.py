"""Parts of logs of jobs that lived through trouble: work, trouble, restarts, good ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

STEPS = 120

Work = Callable[[int], str]
"""From a step to the line that tells of it."""


def _clock(step: int) -> str:
    return f"{10 + step * 9 // 3600:02}:{step * 9 % 3600 // 60:02}:{step * 9 % 60:02}"


WORKS: dict[str, Work] = {
    "plain": lambda n: f"step {n}/{STEPS} loss {5 - n / STEPS:.4f}",
    "own": lambda n: f"INFO:trainer:upd={n} of {STEPS} nll={5 - n / STEPS:.4f} tok/s=41123",
    "chinese": lambda n: f"2026-05-01 {_clock(n)} 信息 第 {n}/{STEPS} 步 损失 {5 - n / STEPS:.4f}",
    "epochs": lambda n: (
        f"(RayTrainWorker pid=1000, ip=10.5.0.2) epoch {n} val_loss {5 - n / 99:.3f}"
    ),
    "table": lambda n: (
        f"    {n:4d}/{STEPS}      10.2G     {2 - n / STEPS:.3f}     0.912        120        640: "
        "100%|██████████| 212/212 [01:20<00:00,  2.62it/s]"
    ),
    "perplexity": lambda n: (
        f"[batch={n}/{STEPS}]: Train loss/total: {5 - n / STEPS:.4f} | Train LanguagePerplexity:"
        f" {99 - n / STEPS:.4f}"
    ),
    "dict": lambda n: (
        f"{{'loss': {5 - n / STEPS:.4f}, 'learning_rate': 1e-05, 'epoch': {n / 99:.2f}}}"
    ),
    "megatron": lambda n: (
        f" [2026-05-01 {_clock(n)}] iteration {n:8d}/{STEPS:8d} | consumed samples: {n * 64:12d} | "
        f"elapsed time per iteration (ms): 9{n % 90:03d}.4 | lm loss: {5 - n / STEPS:.6E} |"
    ),
    "keras": lambda n: (
        f"[1,0]<stdout>:{n:4d}/{STEPS} [{'=' * (n // 9)}>{'.' * (14 - n // 9)}] - ETA: 12:10 - "
        f"loss: {5 - n / STEPS:.4f}"
    ),
    "maxtext": lambda n: (
        f"completed step: {n}, seconds: 4.11, TFLOP/s/device: 121.1, loss: {5 - n / 99:.3f}"
    ),
    "json": lambda n: (
        f'{{"ts": "2026-05-01T{_clock(n)}Z", "step": {n}, "loss": {5 - n / STEPS:.4f}}}'
    ),
}

_RAISED = (
    "Traceback (most recent call last):",
    '  File "/home/me/proj/ckpt/upload.py", line 88, in put',
    "    self.client.put_object(part)",
)
TROUBLE: dict[str, Sequence[str]] = {
    "query": (
        "n01:9000:9100 [0] misc/ibvwrap.cc:94 NCCL WARN Call to ibv_query_gid_type failed, "
        "continuing",
    ),
    "register": (
        "n01:9000:9100 [0] misc/ibvwrap.cc:241 NCCL WARN Call to ibv_reg_mr_iova2 failed "
        "with error "
        "Cannot allocate memory; falling back to ibv_reg_mr",
    ),
    "route": (
        "n01:9000:9100 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to "
        "fe80::1%eth1<4123> failed : No route to host; trying next interface",
    ),
    "shared": (
        "n01:9000:9100 [0] include/shm.h:41 NCCL WARN Error: failed to extend /dev/shm/nccl-x to "
        "9637892 bytes, using cudaMalloc instead",
    ),
    "port": (
        "[W501 10:01:00.112 socket.cpp:464] [c10d] The server socket has failed to bind to "
        "[::]:29500 "
        "(errno: 98 - Address already in use).",
        "port 29500 is taken, using 29511",
    ),
    "upload": (
        *_RAISED,
        "OSError: [Errno 116] Stale file handle: '/nfs/out/3.pt'",
        "ERROR:ckpt:will try again in 30 s",
    ),
    "disk": (
        "OSError: [Errno 28] No space left on device: '/local/ckpt/5'",
        "WARNING pruning old checkpoints and saving once more",
    ),
    "memory": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total "
        "capacity of 79.15 GiB of which 3.12 GiB is free.",
        "batch of 64 does not fit, using 32",
    ),
    "xid": (
        "[ 8123.001] NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', name=<unknown>, DBE (double "
        "bit error) ECC Error",
    ),
    "killed": (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=884213.extern. Some of the "
        "step tasks "
        "have been OOM Killed.",
    ),
    "stall": (
        "[2026-05-01 10:01:00.112: W /tmp/hvd/horovod/common/stall_inspector.cc:107] One or more "
        "tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are "
        "waiting for remainder of ranks for more than 60 seconds. This may indicate that different "
        "ranks are trying to submit different tensors or that only subset of ranks is submitting "
        "tensors, which will cause deadlock. ",
        "Missing ranks:",
        "2: [allreduce.x]",
    ),
    "plan": (
        "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED (this plan is skipped, next "
        "is tried)",
    ),
}
"""Each is held against a job that shows nothing after it."""

RESTARTS: dict[str, Sequence[str]] = {
    "node": (
        "(raylet, ip=10.5.0.3) The node with node id: a002 and address: 10.5.0.3 and node name: "
        "10.5.0.3 has been marked dead because the detector has missed too many heartbeats "
        "from it.",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "2026-05-01 10:02:01,010\tINFO controller.py -- run a1: attempt 2 of 4, resuming "
        "from step 50",
    ),
    "requeued": (
        "slurmstepd: error: *** JOB 884213 ON n01 CANCELLED AT 2026-05-01T10:02:00 DUE TO "
        "PREEMPTION"
        " ***",
        "slurmstepd: info: job requeued",
        "loading checkpoint out/50",
    ),
    "replaced": (
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "launcher: node n04 replaced by n09, relaunching all workers from step 50",
    ),
}

ENDS = (
    f"Training completed after {STEPS} iterations at 2026-05-01 17:30:40. Total running time: 3hr",
    "Early stopping: no improvement for 10 evaluations. Training finished.",
    "run complete, exiting",
    "training successful, bye",
    f"训练结束,共 {STEPS} 步,未出现错误",
    f"job finished after {STEPS} steps, 0 errors",
    "experiment done without a single failure",
    "all 8 ranks finished; failed: 0",
)

LEAVING: dict[str, Sequence[str]] = {
    "close": (
        "n01:9003:9903 [3] proxy.cc:1522 NCCL WARN [Proxy Service 3] Failed to execute "
        "operation Close "
        "from rank 3, retcode 3",
    ),
    "stuck": (
        "[rank4]:[E501 17:48:01.000000125 ProcessGroupNCCL.cpp:1870] [PG ID 12 PG GUID "
        "99(EP) Rank 4] "
        "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in "
        "monitoring "
        "enqueued collectives.",
    ),
    "store": (
        "[rank2]:[W501 17:48:01.000000845 TCPStore.cpp:125] [c10d] recvValue failed on "
        "SocketImpl(fd=71, addr=[n01]:51102, remote=[n01]:29500): Failed to recv, got 0 bytes. "
        "Connection was likely closed. Did the remote server shutdown or crash?",
    ),
    "peer": (
        "n01:9003:9903 [3] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote "
        "peer n02<41231>",
    ),
    "thread": (
        "Exception in thread Thread-3 (_monitor):",
        "Traceback (most recent call last):",
        '  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner',
        "    self.run()",
        "EOFError",
    ),
}


def steps(work: str, begin: int, end: int) -> list[str]:
    """Lines of work, both ends included."""
    return [WORKS[work](n) for n in range(begin, end + 1)]
