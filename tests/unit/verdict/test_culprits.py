"""Who it was: ranks that a log proves without naming them beside the cause, and neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from support.feeding import feed
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis
from unhang.model.events import OneDiffers
from unhang.parsers.side_by_side import SideBySideParser


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


UNIQUE_ID = (
    "RuntimeError: [{0}] is setting up NCCL communicator and {verb} ncclUniqueId from [0] via c10d"
    " key-value store by key '0', but store->get('0') got error: {why}"
)


@pytest.mark.parametrize("verb", ["retreiving", "retrieving"])
@pytest.mark.parametrize(
    "why", ["Socket Timeout", "Timeout waiting for key: default_pg/0/0 after 1800000 ms"]
)
def test_the_owner_of_a_key_that_torch_misspells(tmp_path: Path, verb: str, why: str) -> None:
    """Torch spelt it `retreiving` until 2.0."""
    diagnosis = judged(tmp_path, "step 1", UNIQUE_ID.format(1, verb=verb, why=why))
    assert (diagnosis.cause, set(diagnosis.culprits)) == (Cause.RENDEZVOUS, {0})


OOM = (
    "RuntimeError: CUDA out of memory. Tried to allocate 1.52 GiB (GPU {gpu}; 15.78 GiB total"
    " capacity; 12.01 GiB already allocated; 1.10 GiB free; 13.00 GiB reserved in total by PyTorch)"
)


def joined(rank: int) -> str:
    return (
        "2021-10-30 20:01:55 | INFO | fairseq.distributed_utils | distributed init"
        f" (rank {rank}): tcp://localhost:15327"
    )


@pytest.mark.parametrize(("gpu", "ranks"), [(2, {2}), (3, {3}), (0, set()), (1, set())])
def test_the_index_of_a_gpu_is_a_rank_where_no_second_host_fits(
    tmp_path: Path, gpu: int, ranks: set[int]
) -> None:
    """Four ranks may be two hosts with GPUs 0 and 1; index 0 is everybody's own first GPU."""
    diagnosis = judged(tmp_path, *map(joined, range(4)), RAISED[0], OOM.format(gpu=gpu))
    assert diagnosis.cause is Cause.GPU_OOM
    assert set(diagnosis.culprits) == ranks


RAISED = (
    "Traceback (most recent call last):",
    '  File "train.py", line 268, in <module>',
    "    batch = index[name]",
    "KeyError: 'n02127052'",
)


def smi(*gpus: int) -> str:
    rows = [
        f"|    {gpu}     220{gpu:02}      C   /opt/c/bin/python                          8123MiB |"
        for gpu in gpus
    ]
    rule = "+" + "-" * 77 + "+"
    head = "| Processes:                                                       GPU Memory |"
    names = "|  GPU       PID   Type   Process name                             Usage      |"
    line = "|" + "=" * 77 + "|"
    return "\n".join([rule, head, names, line, *rows, rule]) + "\n"


@pytest.mark.parametrize("gone", [1, 3])
def test_a_gpu_without_a_process_is_that_of_the_rank_that_raised(tmp_path: Path, gone: int) -> None:
    inits = [f"| distributed init (rank {rank}): env://" for rank in (0, 2, 1, 3)]
    left = [gpu for gpu in range(4) if gpu != gone]
    diagnosis = judged(tmp_path, *inits, *RAISED, smi=smi(*left))
    assert (diagnosis.cause, set(diagnosis.culprits)) == (Cause.RANK_EXCEPTION, {gone})
    (tmp_path / "smi.txt").write_text(smi(*left[:-1]))
    assert not unhang.diagnose(str(tmp_path)).culprits


def waits(rank: int) -> str:
    return f"[rank {rank}] broadcasting model parameters"


@pytest.mark.parametrize("gone", [0, 2])
def test_who_is_left_when_the_others_wait_raised(tmp_path: Path, gone: int) -> None:
    others = [waits(rank) for rank in range(4) if rank != gone]
    told = "world_size: 4"
    diagnosis = judged(tmp_path, told, *RAISED, *others)
    assert (diagnosis.cause, set(diagnosis.culprits)) == (Cause.RANK_EXCEPTION, {gone})
    two_left = judged(tmp_path, told, *RAISED, *others[1:])
    assert not two_left.culprits
    other = ("Traceback (most recent call last):", "ValueError: bad shape")
    two_errors = judged(tmp_path, told, *RAISED, *others[1:], *other)
    assert not two_errors.culprits


def test_what_a_rank_leaves_behind_is_no_life(tmp_path: Path) -> None:
    """Rank 0 raised and warned; rank 1, ended in silence, must not be the one that is left."""
    warned = (
        "[rank0]:[W1122 09:10:16.045040699 ProcessGroupNCCL.cpp:1496] Warning: WARNING:"
        " destroy_process_group() was not called before program exit"
    )
    assert 1 not in judged(tmp_path, "world_size: 2", *RAISED, warned).culprits


def norms(odd: int, size: int = 4) -> list[str]:
    return [f"rank   {r} = {'0.00000000' if r == odd else '1.04418230'}" for r in range(size)]


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        (norms(2), {2}),
        ([norms(2)[0], *norms(2)[2:]], None),
        ([*norms(2), *norms(2)], None),
        ([*norms(9), *norms(1)], {1}),
        ([f"rank {r} loss {r}.5" for r in range(4)], None),
        (norms(9), None),
        (["rank 0 = a", "rank 1 = a", "rank 2 = b", "rank 3 = b"], None),
    ],
)
def test_few_differ_from_most(lines: list[str], ranks: set[int] | None) -> None:
    """Not where somebody is missing, always differs, where all differ, or there is a tie."""
    found = [event for event in feed(SideBySideParser, *lines) if isinstance(event, OneDiffers)]
    assert [set(event.ranks) for event in found] == ([] if ranks is None else [ranks])


def no_interface(host: str, rank: int) -> str:
    return (
        f"[1,{rank}]<stderr>:{host}:8{rank}:8{rank} [{rank % 2}] bootstrap.cc:45 NCCL WARN"
        " Bootstrap : no socket interface found"
    )


def test_a_host_on_which_all_ranks_are_is_no_culprit(tmp_path: Path) -> None:
    diagnosis = judged(tmp_path, *(no_interface("gpu7", rank) for rank in range(4)))
    assert diagnosis.cause is Cause.NET_INTERFACE
    assert not diagnosis.culprits


@pytest.mark.parametrize(("size", "named"), [(2, {1}), (3, set())], ids=["all told", "one silent"])
def test_who_failed_while_every_other_one_waited(
    tmp_path: Path, size: int, named: set[int]
) -> None:
    lines = (
        f"world_size: {size}",
        "/aten/src/ATen/native/cuda/Indexing.cu:1289: indexSelectLargeIndex: block: [2,0,0],"
        " thread: [6,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
        "[rank1]: Traceback (most recent call last):",
        '[rank1]:   File "/home/me/pipe.py", line 88, in main',
        "[rank1]: ValueError: the stage failed",
        "[rank0]:[E1122 10:30:00.000000 10 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught"
        " collective operation timeout: WorkNCCL(SeqNum=1, OpType=RECV, NumelIn=8, NumelOut=8,"
        " Timeout(ms)=600000) ran for 600034 milliseconds before timing out.",
    )
    found = judged(tmp_path, *lines)
    assert found.cause is Cause.GPU_KERNEL_FAULT
    assert found.culprits == named
