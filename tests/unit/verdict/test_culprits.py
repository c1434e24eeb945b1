"""Who it was: ranks that a log proves without naming them beside the cause, and neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis


def judged(tmp_path: Path, *lines: str, **others: str) -> Diagnosis:
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    for name, text in others.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return unhang.diagnose(str(tmp_path))


def gave_up(rank: int, *, seq: int = 88, op: str = "BROADCAST", ms: int = 3_600_000) -> str:
    """As torch 1.13 prints it: without a prefix for the process."""
    return (
        f"[E ProcessGroupNCCL.cpp:821] [Rank {rank}] Watchdog caught collective operation timeout:"
        f" WorkNCCL(SeqNum={seq}, OpType={op}, Timeout(ms)={ms}) ran for {ms + 90} milliseconds"
        " before timing out."
    )


COLUMNS = "        Class     Images  Instances      Box(P          R      mAP50  mAP50-95)"
ABORTS = (
    "[E ProcessGroupNCCL.cpp:456] Some NCCL operations have failed or timed out. Due to the"
    " asynchronous nature of CUDA kernels, subsequent GPU operations might run on"
    " corrupted/incomplete data.",
    "[E ProcessGroupNCCL.cpp:461] To avoid data inconsistency, we are taking the entire process"
    " down.",
    "terminate called after throwing an instance of 'std::runtime_error'",
)
ENDED = (
    "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -6) local_rank: {0}"
    " (pid: 71{0}) of binary: /opt/bin/python"
)
TABLE = (
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "=" * 60,
    "train.py FAILED",
    "-" * 60,
    "Root Cause (first observed failure):",
    "[0]:",
    "  rank      : {0} (local_rank: {0})",
    "  exitcode  : -6 (pid: 71{0})",
    "=" * 60,
)


def test_what_stands_behind_words_of_torch_about_us_is_read(tmp_path: Path) -> None:
    """`we are taking the process down` is no person who shows a text up to the next rule."""
    bars = [
        f"{COLUMNS}: {done // 90}%|███   | {done}/9000 [{m}:00<{m}:00, 2.9it/s]"
        for m, done in ((10, 1500), (30, 4500), (50, 7400))
    ]
    last = f"{COLUMNS}: 91%|███   | 8210/9000 [1:00:01<05:01, 2.9it/s]"
    diagnosis = judged(
        tmp_path,
        "torchrun --nproc_per_node 2 train.py",
        "train: Scanning /d/train... 211 images: 100%|█████| 211/211 [00:01<00:00, 2.1it/s]",
        "val: Scanning /d/val... 301 images: 100%|█████| 301/301 [00:01<00:00, 2.1it/s]",
        *bars,
        last + gave_up(1),
        *ABORTS,
        ENDED.format(1),
        *(line.format(1) for line in TABLE),
    )
    assert diagnosis.cause is Cause.EVAL_SLOW
    assert set(diagnosis.culprits) == {0}


def stack(rank: int, head: str, *frames: str) -> list[str]:
    return [head.format(rank=rank, pid=4000 + rank), "Python v3.10.8", "", *frames, ""]


LOADS = (
    'Thread 0x7F61 (idle): "MainThread"',
    "    wait (threading.py:302)",
    "    _try_get_data (torch/utils/data/dataloader.py:1003)",
    "    _next_data (torch/utils/data/dataloader.py:1170)",
    "    __next__ (torch/utils/data/dataloader.py:521)",
    "    train (/src/loop.py:274)",
)
REDUCES = (
    'Thread 0x7FA8 (active): "MainThread"',
    "    all_reduce (torch/distributed/distributed_c10d.py:1322)",
    "    sync_stats (/src/loop.py:690)",
    "    train (/src/loop.py:278)",
)
HEADS = (
    "== host trn-{rank}, local rank 0 (global rank {rank}): py-spy dump --pid {pid}",
    "$ py-spy dump --pid {pid}   # rank {rank}",
    "py-spy, rank {rank}:",
    "# py-spy dump rank {rank} 07:34",
    "stack of rank {rank} (pid {pid})",
)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("late", [0, 3])
def test_whoever_took_a_stack_says_whose_it_is(tmp_path: Path, head: str, late: int) -> None:
    stacks = [
        line
        for rank in range(4)
        for line in stack(rank, head, *(LOADS if rank == late else REDUCES))
    ]
    diagnosis = judged(tmp_path, "step 12 loss 1.2", stacks="\n".join(stacks) + "\n")
    assert (diagnosis.cause, set(diagnosis.culprits)) == (Cause.DATA_SLOW, {late})


def test_a_head_without_a_rank_names_nobody(tmp_path: Path) -> None:
    head = "$ py-spy dump --pid {pid}"
    stacks = [
        line for rank in range(4) for line in stack(rank, head, *(LOADS if rank == 2 else REDUCES))
    ]
    assert not judged(tmp_path, "step 12 loss 1.2", stacks="\n".join(stacks)).culprits


def test_a_frameworks_function_around_a_collective_is_no_collective(tmp_path: Path) -> None:
    syncs = (
        'Thread 0x7FA8 (active): "MainThread"',
        "    all_reduce (torch/distributed/distributed_c10d.py:2050)",
        "    reduce (lightning/pytorch/strategies/ddp.py:301)",
        "    log (lightning/pytorch/core/module.py:517)",
        "    on_validation_epoch_end (/src/model.py:121)",
        "    fit (lightning/pytorch/trainer/trainer.py:544)",
    )
    saves = (
        'Thread 0x7FA8 (active): "MainThread"',
        "    barrier (torch/distributed/distributed_c10d.py:3439)",
        "    barrier (lightning/pytorch/strategies/ddp.py:290)",
        "    save_checkpoint (lightning/pytorch/trainer/trainer.py:1368)",
        "    fit (lightning/pytorch/trainer/trainer.py:544)",
    )
    stacks = [
        line
        for rank in range(4)
        for line in stack(rank, HEADS[2], *(syncs if rank == 1 else saves))
    ]
    diagnosis = judged(tmp_path, "step 12 loss 1.2", stacks="\n".join(stacks))
    assert (diagnosis.cause, set(diagnosis.culprits)) == (Cause.DESYNC, {1})


def adapter(rank: int, host: str) -> str:
    return (
        f"[1,{rank}]<stdout>:{host}:8{rank}:9{rank} [0] transport/net_ib.cu:80 NCCL WARN NET/IB :"
        " Got async event : local catastrophic error"
    )


def test_ranks_are_counted_from_zero(tmp_path: Path) -> None:
    """Whoever speaks as rank 14 has fourteen others beside it, though they are silent."""
    diagnosis = judged(tmp_path, *(adapter(rank, "ctr7") for rank in (12, 13, 14)))
    assert set(diagnosis.culprits) == {12, 13, 14}
    (tmp_path / "job.log").unlink()
    everybody = judged(tmp_path, *(adapter(rank, "ctr7") for rank in (0, 1, 2)))
    assert not everybody.culprits
