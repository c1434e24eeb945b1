"""Announcements at start-up."""

from dataclasses import replace

import pytest

from support.feeding import feed, line, only
from unhang.model.events import WorldSeen
from unhang.model.provenance import Origin
from unhang.parsers.membership import MembershipParser


@pytest.mark.parametrize(
    ("text", "size", "rank", "local"),
    [
        ("initializing ddp: GLOBAL_RANK: 1, MEMBER: 2/8", 8, 1, None),
        ("JAX process: 3 / 4", 4, 3, None),
        ("backend : __init__ : DDP rank 1 of 6, nccl", 6, 1, None),
        ("Started rank: 0/16", 16, 0, None),
        ("jax.process_index: 2, process_count: 4", 4, 2, None),
        ("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4", 4, 0, None),
        ("All distributed processes registered. Starting with 8 processes", 8, None, None),
        (
            "Rank 3: Completed store-based barrier for key:store_based_barrier_key:1 with 8 nodes.",
            8,
            3,
            None,
        ),
        ("Added key: store_based_barrier_key:1 to store for rank: 5", None, 5, None),
        (
            "ProcessGroupNCCL initialization options: size: 8, global rank: 3, TIMEOUT(ms): 60",
            8,
            3,
            None,
        ),
        ("  global_world_sizes=[16, 16, 16, 16]", 16, None, None),
        ("| distributed init (rank 3): env://", None, 3, None),
        ("Num processes: 8", 8, None, None),
        (
            "INFO 07-12 05:58:01 llm_engine.py:161] Initializing an LLM engine with config:"
            " model='m', tensor_parallel_size=4, pipeline_parallel_size=2, seed=0",
            8,
            None,
            None,
        ),
        ("Process index: 5", None, 5, None),
        ("Local process index: 5", None, None, 5),
        (
            "[comm.py:687:mpi_discovery] Discovered MPI settings of world_rank=4, local_rank=0, "
            "world_size=8, master_addr=10.0.0.7, master_port=29500",
            8,
            4,
            0,
        ),
        (
            "using world size: 16, data-parallel size: 16, tensor-model-parallel size: 1",
            16,
            None,
            None,
        ),
        ("Rank of current process: 3. World size: 8", 8, 3, None),
        ("Process rank: 3, device: cuda:3, n_gpu: 1, distributed training: True", None, None, 3),
        ("  world_size ...................................... 8", 8, None, None),
        ("RANK=9, LOCAL_RANK=1, WORLD_SIZE=16", 16, 9, 1),
        ("'world_size': 32,", 32, None, None),
        ("Distributed training is used: world_size 16, launcher pytorch", 16, None, None),
        ("	World size (gpu number): 8", 8, None, None),
        ("the world size is 64", 64, None, None),
    ],
)
def test_announcements(text: str, size: int | None, rank: int | None, local: int | None) -> None:
    found = only(WorldSeen, feed(MembershipParser, text))
    assert (found.world_size, found.rank, found.local_rank) == (size, rank, local)


def test_other_sizes_are_no_announcement() -> None:
    assert feed(MembershipParser, "the real world size of the dataset, 4096 samples") == []


@pytest.mark.parametrize(
    ("text", "local", "size"),
    [
        ("$ torchrun --standalone --nproc-per-node=4 bench.py", 4, 4),
        ("+ torchrun --nproc_per_node 8 -m train --x 1", 8, 8),
        ("python -m torch.distributed.launch --nnodes 2 --nproc_per_node=8 t.py", 8, 16),
        ("torchrun --nnodes=$NNODES --nproc_per_node=8 t.py", 8, None),
        ("$ mpirun -np 16 --hostfile h ./build/all_reduce_perf -b 8 -e 2G", None, 16),
        ("+ mpiexec -n 4 python train.py", None, 4),
        ("$ srun -N 2 --ntasks-per-node=8 python train.py", 8, 16),
        ("$ srun -n 32 python train.py", None, 32),
        ("+ srun -N 2 -n 2 torchrun --nnodes=2 --nproc-per-node=4 t.py", 4, 8),
        ("accelerate launch --num_machines 2 --num_processes 16 sft.py", None, 16),
        ("deepspeed --num_nodes 2 --num_gpus 8 finetune.py", 8, 16),
    ],
)
def test_a_launch_command(text: str, local: int, size: int | None) -> None:
    seen = only(WorldSeen, feed(MembershipParser, text))
    assert (seen.local_world_size, seen.world_size) == (local, size)


def test_hosts_with_their_slots() -> None:
    """Open MPI fills the slots of the first host, then those of the next, unless told otherwise."""
    told = feed(MembershipParser, "$ mpirun -np 4 -H ada:2,bob:2 -x PATH python train.py")
    assert [(e.rank, e.host) for e in told[1:] if isinstance(e, WorldSeen)] == [
        (0, "ada"),
        (1, "ada"),
        (2, "bob"),
        (3, "bob"),
    ]
    for command in (
        "$ mpirun -np 4 -H ada:2,bob:2 --map-by node python train.py",
        "$ mpirun -np 3 -H ada:2,bob:2 python train.py",
    ):
        assert len(feed(MembershipParser, command)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Please use torchrun --nproc_per_node=2 train.py to start several processes",
        "torchrun --nproc_per_node=gpu train.py",
        "usage: torchrun [-h] [--nproc-per-node NPROC]",
    ],
)
def test_a_command_that_tells_nothing(text: str) -> None:
    assert feed(MembershipParser, text) == []


def test_an_engine_inside_a_worker_is_not_the_job() -> None:
    text = line("Initializing a V1 LLM engine with config: tensor_parallel_size=2, seed=0")
    inside = replace(text, origin=Origin(actor="LLMRayActor", pid=71))
    assert only(WorldSeen, feed(MembershipParser, text)).world_size == 2
    assert not feed(MembershipParser, inside)
