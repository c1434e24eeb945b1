"""From announcements at start-up to who is who: world size, ranks, local ranks.

Reads::

    initializing ddp: GLOBAL_RANK: 1, MEMBER: 2/8                      (Lightning)
    All distributed processes registered. Starting with 8 processes    (Lightning)
    Rank 3: Completed store-based barrier for key:store_based_barrier_key:1 with 8 nodes.   (torch)
    ProcessGroupNCCL initialization options: size: 8, global rank: 3, …   (torch, INFO)
    global_world_sizes=[16, 16, 16, 16]                                (torchrun, INFO)
    | distributed init (rank 3): env://                                (torchvision and heirs)
    Num processes: 8                                                   (accelerate)
    Discovered MPI settings of world_rank=0, local_rank=0, world_size=8, …   (DeepSpeed)
    using world size: 16, data-parallel size: 16, …                    (Megatron)
    Rank of current process: 0. World size: 8                          (detectron2)
    mpirun -np 16 -H ada:8,bob:8 ./all_reduce_perf                     (a launch command)

Traps: a store-based barrier of a later group counts its members, not the job's (only the largest
number is the world's); `Process rank: 3` of the transformers examples is the local rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from unhang.model.events import Event, WorldSeen
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.launch_command import read_launch
from unhang.parsers.vocabulary.store_messages import LATER_GROUP
from unhang.sources.line import Line

_SIZE = r"(?P<size>[1-9]\d{0,5})\b"
_RANK = r"(?P<rank>\d{1,6})\b"
_LOCAL = r"(?P<local>\d{1,4})\b"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"GLOBAL_RANK:\s*{_RANK}(?:,\s*MEMBER:\s*\d{{1,6}}\s*/\s*{_SIZE})?",
        rf"processes\s*registered\.\s*Starting\s*with\s*{_SIZE}\s*processes",
        rf"Rank\s*{_RANK}:\s*Completed\s*store-based\s*barrier[^()]{{0,200}}?(?:with|for)\s*{_SIZE}\s*nodes",
        rf"initialization\s*options:\s*size:\s*{_SIZE},\s*global\s*rank:\s*{_RANK}",
        rf"global_world_sizes=\[{_SIZE}",
        rf"distributed\s*init\s*\(rank\s*{_RANK}\)",
        rf"training\s*on\s*{_SIZE}\s*devices\s*\(GPU",
        rf"\w+\s*backend,\s*rank\s*{_RANK}\s*of\s*{_SIZE}",
        rf"initializing\s*proc_rank\s*{_RANK}\s*world\s*{_SIZE}",
        rf"Process\s*\(global:\s*{_RANK},\s*local\s*{_LOCAL}\),\s*total\s*{_SIZE}",
        rf"GPU\s*per\s*process\.\s*Process\s*{_RANK},\s*total\s*{_SIZE}",
        rf"loading\s*model\s*for\s*process\s*\d{{1,6}}/{_SIZE}",
        rf"Num\s*processes:\s*{_SIZE}",
        rf"Local\s*process\s*index:\s*{_LOCAL}",
        rf"Process\s*index:\s*{_RANK}",
        rf"world_rank=\s*{_RANK},\s*local_rank=\s*{_LOCAL},\s*world_size=\s*{_SIZE}",
        rf"Rank\s*of\s*current\s*process:\s*{_RANK}\.?\s*World\s*size:\s*{_SIZE}",
        rf"Process\s*rank:\s*{_LOCAL},\s*device:",
        rf"\bRANK\s*[=:]\s*{_RANK}[,;\s]+LOCAL_RANK\s*[=:]\s*{_LOCAL}"
        rf"(?:[,;\s]+WORLD_SIZE\s*[=:]\s*{_SIZE})?",
        rf"\bworld_size\s?\.{{3,80}}\s?{_SIZE}",
        rf"(?i:\bworld[\s_]?size)['\"]?(?:\s*\([^()]{{1,40}}\))?"
        rf"(?:\s*[=:\]]{{1,2}}\s*|\s+is\s+|\s+){_SIZE}(?![.,]\d|\s+[a-z])",
    )
)


class MembershipParser(LineParser):
    """Parser of announcements."""

    NAME: ClassVar[str] = "membership"
    NEEDLES: ClassVar[tuple[str, ...]] = (
        "GLOBAL_RANK",
        "processes registered",
        "store-based barrier",
        "initialization options: size",
        "global_world_sizes",
        "distributed init (",
        "devices (GPU",
        " backend, rank",
        "proc_rank",
        "Process (global",
        "GPU per process",
        "loading model for process",
        "Num processes:",
        "rocess index:",
        "world_rank=",
        "world_size",
        "world size",
        "WORLD_SIZE",
        "World size",
        "World Size",
        "Rank of current process",
        "Process rank:",
        "nproc_per_node",
        "nproc-per-node",
        *("mpirun ", "mpiexec ", "horovodrun ", "srun ", "accelerate launch ", "deepspeed "),
    )

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the first thing that this line announces."""
        launch = read_launch(line.text)
        if launch is not None:
            yield WorldSeen(
                **place(line),
                world_size=launch.world_size,
                local_world_size=launch.local_world_size,
                node_rank=launch.node_rank,
            )
            for rank, host in enumerate(launch.hosts):
                yield WorldSeen(**place(line), listed=True, rank=Rank(rank), host=host)
            return
        for pattern in _PATTERNS:
            match = pattern.search(line.text)
            if match is None or LATER_GROUP.search(line.text):
                continue
            told = match.groupdict()
            yield WorldSeen(
                **place(line),
                world_size=None if told.get("size") is None else int(match["size"]),
                rank=None if told.get("rank") is None else Rank(int(match["rank"])),
                local_rank=None if told.get("local") is None else LocalRank(int(match["local"])),
            )
            return
