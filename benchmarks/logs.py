"""Write the logs of a job that trains for days and then hangs: one file for each rank.

Nearly all of it is what healthy training prints: progress bars, loss dictionaries, step lines,
warnings, a checkpoint now and then. The end is a watchdog time-out of every rank but one, which
saves.
"""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_START = datetime.datetime(2026, 6, 2, 11, 17, 52, tzinfo=datetime.timezone.utc)
_BLOCK_STEPS = 2_000
_DISTINCT_STEPS = 200_000
"""Steps until a log repeats itself: some 25 MB."""
LATE = 1
"""The rank that saves while the others wait."""
_PER_HOST = 8
"""Ranks of a host, whose logs differ in all that they say; those of another host say it again."""


def write_logs(folder: Path, *, ranks: int, total_bytes: int) -> list[Path]:
    """Write `ranks` files of about `total_bytes` together.

    Args:
        folder: where; it must exist.
        ranks: number of files.
        total_bytes: their size together.
    """
    return [_write(folder, rank, ranks, total_bytes // ranks) for rank in range(ranks)]


def _write(folder: Path, rank: int, ranks: int, size: int) -> Path:
    path = folder / f"rank_{rank}.log"
    with path.open("wb") as stream:
        stream.writelines(line.encode() for line in _start(rank, ranks))
        for first in itertools.cycle(range(0, _DISTINCT_STEPS, _BLOCK_STEPS)):
            said = _block(first, rank % _PER_HOST)
            block = said.replace(b"[rank%d]" % (rank % _PER_HOST), b"[rank%d]" % rank)
            if stream.tell() + len(block) > size:
                break
            stream.write(block)
        end = _save(rank) if rank == LATE else _failure(_DISTINCT_STEPS, rank)
        stream.writelines(line.encode() for line in end)
    return path


@cache
def _block(first: int, rank: int) -> bytes:
    random_ = random.Random(first * _PER_HOST + rank)
    return "".join(_healthy(first, _BLOCK_STEPS, rank, random_)).encode()


def _start(rank: int, ranks: int) -> Iterator[str]:
    local = rank % _PER_HOST
    yield f"[rank{rank}]: world_size={ranks} local_rank={local}\n"
    for channel in range(16):
        yield (
            f"node-{rank // _PER_HOST}:4100{local}:4110{local} [{local}] NCCL INFO Channel"
            f" {channel:02d}/0 : "
            f"{rank}[{rank}] -> {(rank + 1) % ranks}[{(rank + 1) % ranks}] via P2P/CUMEM\n"
        )


def _healthy(first: int, steps: int, rank: int, random_: random.Random) -> Iterator[str]:
    for step in range(first, first + steps):
        at = _START + datetime.timedelta(seconds=step)
        loss = 2 + random_.random()
        yield (
            f"\rTrain: {step % 100:3d}%|{'█' * (step % 10)}{' ' * (10 - step % 10)}| "
            f"{step}/9000000 [{step // 3600:02d}:{step // 60 % 60:02d}<99:59:59,  {loss:.2f}it/s]"
        )
        if step % 2 == 0:
            told = f"'loss': {loss:.4f}, 'grad_norm': {loss / 3:.5f}, 'epoch': {step / 1e5:.3f}"
            yield f"\n{{{told}}}\n"
        if step % 5 == 0:
            yield (
                f"{at:%Y-%m-%d %H:%M:%S},{step % 1000:03d} - INFO - trainer - tokens per second "
                f"{20_000 + step % 977}, memory {61 + step % 7}.2 GiB, data wait {loss:.3f} ms\n"
            )
        if step % 400 == 0:
            yield f"{at:%H:%M:%S} [rank{rank}]: gradient overflow, scale {2 ** (step % 16)}\n"
        if step % 50_000 == 0:
            yield f"Saving model checkpoint to /ckpt/checkpoint-{step}\n"


def _save(rank: int) -> Iterator[str]:
    yield f"[rank{rank}]: Saving model checkpoint to /ckpt/checkpoint-{_DISTINCT_STEPS}\n"


def _failure(step: int, rank: int) -> Iterator[str]:
    header = f"[rank{rank}]:[E602 15:42:07.{rank:06d}123 ProcessGroupNCCL.cpp:"
    yield (
        f"{header}629] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum="
        f"{step}, OpType=ALLREDUCE, NumelIn=9801523, NumelOut=9801523, Timeout(ms)=600000) ran for "
        f"6000{rank + 10} milliseconds before timing out.\n"
    )
    yield (
        f"{header}2168] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog "
        f"at work sequence id: {step} PG status: last enqueued work: {step}, last completed work: "
        f"{step - 1}\n"
    )
    yield (
        f"{header}695] [Rank {rank}] To avoid data inconsistency, we are taking the entire process "
        "down.\n"
    )
