"""A path tells a rank only where it says so."""

from __future__ import annotations

import pytest

from unhang.model.provenance import NOBODY
from unhang.sources.hints import origin_of


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("rank3.err", 3),
        ("logs/rank_03.log", 3),
        ("slurm-1234-rank-7.out", 7),
        ("RANK=5.txt", 5),
        ("rank_12/stderr", 12),
        ("job.tar.gz!logs/rank5.txt", 5),
        ("global_rank_2.log", 2),
        ("run/dumps/1/stack_3.txt", 3),
        ("frank3.log", None),
        ("stacks/stack_3.txt", None),
        ("log_3.txt", None),
        ("slurm-1234_5.out", None),
        ("lora_rank16.log", None),
        ("llama-lora-rank16/train.log", None),
        ("rank_16_sweep/train.log", None),
        ("local_rank_2.log", None),
        ("node_rank_2.log", None),
        ("job-worker-3.log", None),
        ("run_x/attempt_0/3/stderr.log", None),
    ],
)
def test_ranks(path: str, rank: int | None) -> None:
    assert origin_of(path).rank == rank


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("node-2/stderr.log", "node-2"),
        ("b.tar.zst!host=vm/rank_3/stacks.txt", "vm"),
        ("a.unhang.tar.zst!host=ip-10-0-0-3.ec2.internal/gpus.txt", "ip-10-0-0-3.ec2.internal"),
        ("logs/host7/rank3.log", "host7"),
        ("job-worker-3.log", "job-worker-3"),
        ("job-worker-3-pytorch.log", "job-worker-3-pytorch"),
        ("10.0.0.7/train.log", "10.0.0.7"),
        ("train-gpu-12.log", "gpu-12"),
        ("ip-10-0-0-1.log", "ip-10-0-0-1"),
        ("node_rank_1.log", "node_rank_1"),
        ("sweep-node2/train.log", "node2"),
        ("deadlock-node2-no-route/train.log", None),
        ("gpu3.log", None),
        ("nodes.log", None),
        ("slurm-1234.out", None),
    ],
)
def test_hosts(path: str, host: str | None) -> None:
    assert origin_of(path).host == host


def test_torchrun_trees() -> None:
    origin = origin_of("logs/none_abc/attempt_1/3/stderr.log")
    assert (origin.incarnation, origin.local_rank) == (1, 3)
    assert origin_of("logs/none_abc/attempt_1/3/error.json") == NOBODY


def test_other_launchers() -> None:
    assert origin_of("logs/local_rank_2.log").local_rank == 2
    assert origin_of("logs/task_4.out").task == 4
    ray = origin_of("session_x/logs/worker-0123456789abcdef0123-01000000-4711.err")
    assert (ray.pid, ray.rank, ray.host) == (4711, None, None)


def test_what_lies_far_out_does_not_count() -> None:
    assert origin_of("/home/me/node-7/work/data/runs/a/train.log") == NOBODY


def test_files_that_launchers_number_by_local_rank() -> None:
    assert origin_of("log/workerlog.3").local_rank == 3
    assert origin_of("logs/2026_04_12-171003GPU_5.log").local_rank == 5
    assert origin_of("log/workerlog.old").local_rank is None
    assert origin_of("logs/GPU_5_notes.log").local_rank is None
