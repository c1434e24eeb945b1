"""From a launch command as a log shows it to how many ranks it starts on each host, and in all.

Reads `torchrun --standalone --nproc-per-node=4 train.py` and
`python -m torch.distributed.launch --nnodes 2 --nproc_per_node 8 train.py`.

Trap: messages advise commands (`please use torchrun --nproc_per_node=2 …`); numbers may be
variables of the shell (`--nnodes=$NNODES`) or words (`auto`, `gpu`), which tell nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_LAUNCHER = re.compile(r"\b(?:torchrun|torch\.distributed\.(?:run|launch))\s")
_PER_NODE = re.compile(r"--nproc[-_]per[-_]node[=\s]+(?P<count>[1-9]\d{0,3})(?=\s)")
_NODES = re.compile(r"--nnodes[=\s]+(?P<nodes>\S{1,40})")
_NODE_RANK = re.compile(r"--node[-_]rank[=\s]+(?P<node>\d{1,5})(?=\s)")
_DYNAMIC = re.compile(r"--rdzv[-_](?:backend|endpoint)")
_SCRIPT = re.compile(r"\s(?:\S+\.py\b|-m\s+\S|--module\s)")
_ADVICE = re.compile(
    r"\b(?:use|using|try|please|should|can|could|instead|example|e\.g\.|like|usage)\b",
    re.IGNORECASE,
)
_LIMIT = 8000


class LaunchCommand(NamedTuple):
    """What a command says of the job.

    Attributes:
        world_size: None where the number of hosts is open.
        node_rank: the place of the host among all, None where it is not said or not kept to.
    """

    local_world_size: int
    world_size: int | None
    node_rank: int | None = None


def read_launch(text: str) -> LaunchCommand | None:
    """Return what a launch command in `text` says, or None.

    >>> read_launch("$ torchrun --nnodes=2 --nproc-per-node=8 train.py")
    LaunchCommand(local_world_size=8, world_size=16, node_rank=None)
    """
    launcher = _LAUNCHER.search(text[:_LIMIT])
    if launcher is None or _ADVICE.search(text[: launcher.start()]):
        return None
    command = text[launcher.start() : _LIMIT]
    count, script = (
        _PER_NODE.search(command),
        _SCRIPT.search(command, launcher.end() - launcher.start()),
    )
    if count is None or script is None:
        return None
    local = int(count["count"])
    nodes = _NODES.search(command)
    if nodes is None or "--standalone" in command:
        return LaunchCommand(local, local)
    hosts = nodes["nodes"]
    place = None if _DYNAMIC.search(command) else _NODE_RANK.search(command)
    return LaunchCommand(
        local,
        local * int(hosts) if hosts.isdecimal() and len(hosts) < 6 else None,
        None if place is None else int(place["node"]),
    )
