"""What a path tells of who wrote the file, where it says so outright.

Known: names with `rank3`, torchrun's `--log-dir` tree (`<run>/attempt_0/3/stderr.log`), folders
and names with `node-2` or `host-a`, pods (`job-worker-3.log` is a pod, not a rank), Slurm's
`task3`, a bundle's `host=gpu-07/`, Ray's `worker-<id>-<job>-<pid>.err`, the stacks of a run folder
(`dumps/1/stack_3.txt`). A bare number in a name is otherwise never taken for a rank, nor is the
rank of a LoRA adapter (`lora_rank16.log`).
"""

from __future__ import annotations

from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import NOBODY, Origin

_TORCHRUN = re.compile(
    r"(?:^|/)(?:attempt_)?(?P<incarnation>\d{1,4})/(?P<local>\d{1,3})/std(?:err|out)\.log$"
)
_DUMPED = re.compile(r"(?:^|/)dumps/\d{1,9}/stack_(?P<rank>\d{1,6})\.txt$")
_RAY = re.compile(r"worker-[0-9a-f]{16,}-[0-9a-f]{2,8}-(?P<pid>\d{1,9})\.(?:err|out)")
_POD = re.compile(
    r"(?P<pod>[a-z0-9][a-z0-9.-]{0,200}-(?:worker|master|launcher|trainer|chief|head|server)-\d{1,5}"
    r"(?:-[a-z]{1,20})?)(?:[._]|$)"
)
_IP = re.compile(r"(?<![\d.])(?P<host>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?![\d.])")
_EDGE = r"(?:^|(?<=[^a-zA-Z0-9]))"
_LOCAL = re.compile(_EDGE + r"local[_-]?rank[._=-]?(?P<local>\d{1,4})(?!\d)", re.IGNORECASE)
_OF_LAUNCHER = re.compile(r"(?:^workerlog\.(?P<local>\d{1,3})$|GPU_(?P<gpu>\d{1,2})\.log$)")
"""Paddle's launcher (distributed/launch, 2.x) and NVIDIA's multiproc.py count local ranks so."""
_NODE_RANK = re.compile(_EDGE + r"(?P<host>node[_-]?rank[._=-]?\d{1,5})(?!\d)", re.IGNORECASE)
_RANK = re.compile(_EDGE + r"(?:global[_-]?)?rank[._=-]?(?P<rank>\d{1,6})(?!\d)", re.IGNORECASE)
_PADDLE = re.compile(r"^workerlog\.(?P<local>\d{1,4})$")
"""One file for each process of a host (paddle/distributed/launch, 2.3 to 3.0)."""
_LORA = re.compile(r"lora|adapter|peft", re.IGNORECASE)
_TASK = re.compile(_EDGE + r"task[._=-]?(?P<task>\d{1,6})(?!\d)", re.IGNORECASE)
_HOST = re.compile(
    _EDGE
    + r"(?P<host>(?:(?:node|host|dgx|hgx|worker|master|launcher|chief|compute|nid|ip|gn|cn)[_-]?\d"
    r"|gpu-?\d\d)[\w-]{0,60})"
    r"(?=[./]|$)"
)
_NAMED_HOST = re.compile(r"host=(?P<host>[A-Za-z0-9][\w.-]{0,250})")

_NUMBERED = re.compile(r"[a-zA-Z]+[_-]?\d+(?:\.\d+){0,3}|\d+(?:\.\d+){3}")

_PARTS = 4
"""Parts of a path that count: those further out tell of the machine it is read on."""


def origin_of(path: str) -> Origin:
    """What `path` tells; its folders count too, the nearest one most.

    >>> origin_of("logs/node-2/rank_3.log").rank
    3
    """
    path = path.replace("\\", "/").replace("!", "/")
    *folders, name = path.split("/")[-_PARTS:]
    origin = NOBODY
    for folder in folders:
        origin = _from_part(folder, origin, whole=True)
    origin = _from_part(name, origin, whole=False)
    dumped = _DUMPED.search(path)
    if dumped is not None:
        origin = replace(origin, rank=Rank(int(dumped["rank"])))
    torchrun = _TORCHRUN.search(path)
    if torchrun is not None:
        origin = replace(
            origin,
            local_rank=LocalRank(int(torchrun["local"])),
            incarnation=int(torchrun["incarnation"]),
        )
    return origin


def _names_host(folder: str, match: re.Match[str]) -> bool:
    """Whether a folder is named after a host; one of a job tells what the job was about."""
    return match.start() == 0 or _NUMBERED.fullmatch(folder, match.start()) is not None


def _from_part(part: str, origin: Origin, *, whole: bool) -> Origin:
    """What one name tells; a folder's rank counts only when that is its `whole` name."""
    ray = _RAY.search(part)
    if ray is not None:
        return replace(origin, pid=int(ray["pid"]))
    for pattern in (_NAMED_HOST, _POD, _IP, _NODE_RANK, _HOST):
        match = pattern.search(part)
        if match is not None and (not whole or _names_host(part, match)):
            origin = replace(origin, host=match[1])
            break
    launched = None if whole else _OF_LAUNCHER.search(part)
    if launched is not None:
        return replace(origin, local_rank=LocalRank(int(launched["local"] or launched["gpu"])))
    part = _NODE_RANK.sub("", part)
    local, rank, task = (
        pattern.fullmatch(part) if whole else pattern.search(part)
        for pattern in (_LOCAL, _RANK, _TASK)
    )
    local = local or _PADDLE.match(part)
    if local is not None:
        return replace(origin, local_rank=LocalRank(int(local["local"])))
    if rank is not None and _LORA.search(part) is None:
        origin = replace(origin, rank=Rank(int(rank["rank"])))
    if task is not None:
        origin = replace(origin, task=int(task["task"]))
    return origin
