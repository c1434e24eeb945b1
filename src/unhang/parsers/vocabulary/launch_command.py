"""From a launch command as a log shows it to how many ranks it starts, on which hosts.

Reads `torchrun --standalone --nproc-per-node=4 train.py`,
`python -m torch.distributed.launch --nnodes 2 --nproc_per_node 8 train.py`,
`mpirun -np 16 -H ada:8,bob:8 ./all_reduce_perf`, `horovodrun -np 8 -H …`, `mpiexec -n 4 …`,
`srun -N 2 --ntasks-per-node=8 …`, `accelerate launch --num_processes 16 …`,
`deepspeed --num_nodes 2 --num_gpus 8 …`. A launcher inside another one counts.

Trap: messages advise commands (`please use torchrun --nproc_per_node=2 …`); numbers may be
variables of the shell (`--nnodes=$NNODES`) or words (`auto`, `gpu`), which tell nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from unhang import lazy_re as re

_LAUNCHER = re.compile(
    r"(?<![\w/.-])(?:\S{1,200}/)?(?:(?P<torch>torchrun|python\S* .{0,40}?torch\.distributed\.(?:run"
    r"|launch))|(?P<mpi>(?:mpi|prte|horovod)run|mpiexec)|(?P<srun>srun)|(?P<accelerate>accelerate"
    r" launch)|(?P<deepspeed>deepspeed))(?=\s(?:.{0,4000}\s)?--?\w)"
)
"""The command, and whose options it takes."""
_NUMBER = r"[=\s]+(?P<n>[1-9]\d{0,5})(?=\s)"
_OPTIONS = {
    # launcher: options of all its processes, of those on each host, and of the hosts
    "torch": (None, r"--nproc[-_]per[-_]node", r"--nnodes"),
    "mpi": (r"--?np?", r"--?(?:ppn|npernode)", None),
    "srun": (r"(?:-n|--ntasks)", r"--ntasks-per-node", r"(?:-N|--nodes)"),
    "accelerate": (r"--num[-_]processes", None, None),
    "deepspeed": (None, r"--num[-_]gpus", r"--num[-_]nodes"),
}
_NODES = r"[=\s]+(?P<n>\S{1,40})"
_ALONE = frozenset({"torch", "deepspeed"})
"""Without the number of hosts it is one."""
_NODE_RANK = re.compile(r"--(?:node|machine)[-_]rank[=\s]+(?P<node>\d{1,5})(?=\s)")
_DYNAMIC = re.compile(r"--rdzv[-_](?:backend|endpoint)")
_HOSTS = re.compile(
    r"\s(?:-H|--?hosts?)[=\s]+(?P<hosts>[\w.-]+(?::\d{1,3})?(?:,[\w.-]+(?::\d{1,3})?)*)\s"
)
_SPREAD = re.compile(r"--(?:map-by|rank-by|bynode)\b(?! (?:slot|core))|\s-(?:rr|bynode)\b")
_PROGRAM = re.compile(r"\s(?:\S+\.py\b|-m\s+\S|--module\s|\./\S|/\S|python|[a-z]\w*_perf\b)")
_ADVICE = re.compile(
    r"\b(?:use|using|try|please|should|can|could|instead|example|e\.g\.|like|usage)\b",
    re.IGNORECASE,
)
_LIMIT = 8000


class LaunchCommand(NamedTuple):
    """What a command says of the job.

    Attributes:
        local_world_size: ranks on each host, None where it is not said.
        world_size: None where the number of hosts is open.
        node_rank: the place of the host among all, None where it is not said or not kept to.
        hosts: the host of each rank in their order, where the command lists hosts with their slots.
    """

    local_world_size: int | None
    world_size: int | None
    node_rank: int | None = None
    hosts: tuple[str, ...] = ()


def read_launch(text: str) -> LaunchCommand | None:
    """Return what a launch command in `text` says, or None.

    >>> read_launch("$ torchrun --nnodes=2 --nproc-per-node=8 train.py")
    LaunchCommand(local_world_size=8, world_size=16, node_rank=None, hosts=())
    """
    found = list(_LAUNCHER.finditer(text[:_LIMIT]))
    if not found or _ADVICE.search(text[: found[0].start()]):
        return None
    launcher = found[-1]
    command = text[launcher.end() : _LIMIT]
    if _PROGRAM.search(command) is None:
        return None
    assert launcher.lastgroup is not None
    all_of, per_host, hosts_of = _OPTIONS[launcher.lastgroup]
    size, local = _number(command, all_of), _number(command, per_host)
    if local is not None and size is None:
        hosts = None if hosts_of is None else re.search(rf"\s{hosts_of}{_NODES}", command)
        if hosts is None or "--standalone" in command:
            size = local if launcher.lastgroup in _ALONE else None
        elif hosts["n"].isdecimal() and len(hosts["n"]) < 6:
            size = local * int(hosts["n"])
    if size is None and local is None:
        return None
    node = None if _DYNAMIC.search(command) else _NODE_RANK.search(command)
    return LaunchCommand(
        local, size, None if node is None else int(node["node"]), _by_slots(command, size)
    )


def _number(command: str, option: str | None) -> int | None:
    told = None if option is None else re.search(rf"\s{option}{_NUMBER}", command)
    return None if told is None else int(told["n"])


def _by_slots(command: str, size: int | None) -> tuple[str, ...]:
    """The host of each rank: slots are filled in the order of the list, unless told otherwise."""
    listed = _HOSTS.search(command)
    if listed is None or size is None or _SPREAD.search(command) is not None:
        return ()
    slots = (part.partition(":") for part in listed["hosts"].split(","))
    places = [host for host, _, count in slots for _ in range(int(count or 1))]
    return tuple(places) if len(places) == size else ()
