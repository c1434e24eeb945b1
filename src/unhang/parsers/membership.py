"""From announcements at start-up to who is who: world size, ranks, local ranks.

Reads::

    initializing ddp: GLOBAL_RANK: 1, MEMBER: 2/8                      (Lightning)
    All distributed processes registered. Starting with 8 processes    (Lightning)
    Rank 3: Completed store-based barrier for key:store_based_barrier_key:1 with 8 nodes.   (torch)
    Added key: store_based_barrier_key:1 to store for rank: 3                    (torch, INFO)
    ProcessGroupNCCL initialization options: size: 8, global rank: 3, …   (torch, INFO)
    global_world_sizes=[16, 16, 16, 16]                                (torchrun, INFO)
    | distributed init (rank 3): env://                                (torchvision and heirs)
    Num processes: 8                                                   (accelerate)
    Discovered MPI settings of world_rank=0, local_rank=0, world_size=8, …   (DeepSpeed)
    using world size: 16, data-parallel size: 16, …                    (Megatron)
    Rank of current process: 0. World size: 8                          (detectron2)
    mpirun -np 16 -H ada:8,bob:8 ./all_reduce_perf                     (a launch command)
    Initializing an LLM engine (v0.5.0) with config: … tensor_parallel_size=2, …      (vLLM)

Traps: a store-based barrier of a later group counts its members, not the job's (only the largest
number is the world's); `Process rank: 3` of the transformers examples is the local rank.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, WorldSeen
from unhang.model.forms import patterns
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.launch_command import read_launch
from unhang.parsers.vocabulary.store_messages import LATER_GROUP
from unhang.sources.line import Line

_ENGINE = re.compile(r"\bInitializing an? (?:V\d )?LLM engine\b")
_AXES = re.compile(r"\b(tensor|pipeline)_parallel_size=(\d{1,4})\b")
_PATTERNS = patterns("unhang.parsers", "data/membership.toml")


class MembershipParser(LineParser, name="membership"):
    """Parser of announcements."""

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
        size = _size_of_engine(line)
        if size is not None:
            yield WorldSeen(**place(line), world_size=size)
            return
        for pattern in _PATTERNS:
            match = pattern.search(line.text)
            if match is None or LATER_GROUP.search(line.text):
                continue
            told = match.groupdict()
            yield WorldSeen(
                **place(line),
                world_size=None if told.get("size") is None else int(match["size"]),
                local_world_size=None if told.get("each") is None else int(match["each"]),
                node_rank=None if told.get("node") is None else int(match["node"]),
                rank=None if told.get("rank") is None else Rank(int(match["rank"])),
                local_rank=None if told.get("local") is None else LocalRank(int(match["local"])),
            )
            return


def _size_of_engine(line: Line) -> int | None:
    """The processes of a serving engine, by its axes; a worker of a larger job may run one."""
    if line.origin.actor is not None and not line.origin.actor.startswith("EngineCore"):
        return None
    if _ENGINE.search(line.text) is None:
        return None
    axes = {axis: int(size) for axis, size in _AXES.findall(line.text)}
    return axes["tensor"] * axes.get("pipeline", 1) if "tensor" in axes else None
