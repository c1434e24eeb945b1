"""From lines that put a rank beside a process, a host or a task to who is who.

Programs, launchers and people print such lines in as many forms as there are of them; what they
share is a key of ranks beside keys of other names of the same process::

    - (ip=10.0.0.2, pid=4711) world_rank=2, local_rank=0, node_rank=1        (Ray Train)
    env: RANK=4 WORLD_SIZE=6 MASTER_ADDR=job-0 hostname=job-4
    mpi rank 4 local 0 on gpu-1 pid 210
    python pid 4711 rank 0; pid 4712 rank 1
    launching c-07 on host hd125 for task worker:5 (RANK=5)
    process 4711 spawned with command: ['python', 'train.py', '--local_rank=2', …]  (DeepSpeed)

and the same for the ranks of one host::

    node_rank=2 nproc_per_node=4 -> global ranks 8..11
    NODE_RANK=2 NPROC=2 (ranks 4,5)
    process table: 0-7 -> ra11, 8-15 -> ra12

Traps: a rank of another axis (`node_rank`, `tp_rank`, the rank of a matrix) is none; a line that
tells of a failure or of two ranks says nothing of who is who; a step of training beside a rank has
no second name.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, WorldSeen
from unhang.model.forms import named
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_SIGN = r"['\"]?\s?[=: ]\s?['\"]?"
_KEY = r"(?<![\w-])"
_NAME = r"[A-Za-z][\w-]{0,80}\d[\w-]{0,40}"
_IP = r"\d{1,3}(?:\.\d{1,3}){3}"
_RANK = re.compile(
    rf"{_KEY}(?i:(?:global|world|mpi|dist(?:ributed)?|slurm)[ _-]?(?:rank|procid)|rank"
    rf"|procid|mpirank){_SIGN}(?P<rank>\d{{1,6}})(?![\w.%])(?!\s?/\s?\d)"
)
_LOCAL = re.compile(
    rf"{_KEY}(?i:(?:slurm[ _-]?)?local[ _-]?(?:rank|id)|local){_SIGN}"
    r"(?P<local>\d{1,3})(?![\w.%])"
)
_PID = re.compile(rf"{_KEY}(?i:pid){_SIGN}(?P<pid>\d{{2,9}})(?![\w.])")
_HOST = re.compile(
    rf"{_KEY}(?i:host(?:name)?|node(?:[ _-]?name)?|ip|pod(?:[ _-]?name)?){_SIGN}"
    rf"(?P<host>(?:{_NAME}|{_IP})(?:\.[a-z][\w.-]{{0,80}})?)"
    rf"|\bon (?:host |node )?(?P<on>(?!(?:gpu|cuda|device|npu)_?\d{{1,2}}\b){_NAME}|{_IP})(?![\w/])"
)
_WORLD = re.compile(rf"{_KEY}(?i:world[ _-]?size){_SIGN}(?P<size>[1-9]\d{{0,5}})(?![\w.])")
_NODE_RANKS = re.compile(
    rf"{_KEY}(?i:(?:(?:node|machine)[ _-]?rank|node[ _-]?id).{{1,80}}?"
    r"\b(?:global |world )?ranks?[ :=]{1,2}[\[(]?)(?P<first>\d{1,6})"
    r"(?:\s?(?:\.{2,3}|-|\u2013|to|,)\s?(?P<last>\d{1,6})|(?P<more>(?:,\s?\d{1,6}){2,64}))(?![\w.])"
)
_SPAN = rf"\d{{1,6}}-\d{{1,6}}\s?(?:->|=>|:|on|=)\s?{_NAME}"
_TABLE = re.compile(
    rf"(?i:(?<![A-Za-z])(?:procid|ranks?|tasks?)\b).{{0,60}}?"
    rf"(?P<rows>{_SPAN}(?:[,;]\s?{_SPAN}){{0,4095}})\s*$"
)
_ROW = re.compile(rf"(\d{{1,6}})-(\d{{1,6}})\s?(?:->|=>|:|on|=)\s?({_NAME})")
_PATTERNS = named("unhang.parsers", "data/process_lists.toml")
_OTHER_AXIS = _PATTERNS["other_axis"]
_FAILING = _PATTERNS["failing"]
_PAIRS = re.compile(r"(?:[A-Za-z_]\w{0,40}\s?[=:]\s?[^\s,;=]{1,80}(?:[,;]?\s|$)){1,12}")
_STARTED = re.compile(
    r"\bprocess (?P<pid>\d{2,9}) spawned with command: .{1,400}?--local[_-]rank[=', ]{1,4}"
    r"(?P<local>\d{1,3})\b"
)
_INTEL = re.compile(
    r"MPI startup\(\): (?P<rank>\d{1,6}) +(?P<pid>\d{2,9}) +(?P<host>[A-Za-z][\w.-]{0,80}) "
)
"""A row of Intel MPI's table, with I_MPI_DEBUG=3 and above (2019 to 2021)."""
_HOSTED = re.compile(
    rf"(?:(?P<host>{_NAME})\s?[:=]\s?)?(?i:global |world )?(?i:ranks)[ :=]{{1,2}}\[?"
    r"(?P<first>\d{1,6})\s?(?:\.{2,3}|-|\u2013|to)\s?(?P<last>\d{1,6})\]?"
)
"""Nothing but a host and its ranks: `pg2-17: ranks 0-7`."""
_CONTAINERS = re.compile(r"\bSM_HOSTS=(?P<hosts>\[[^\]]{3,4000}\])")
_OWN_GPUS = re.compile(r"\bSM_NUM_GPUS=(?P<count>\d{1,2})\b")
"""sagemaker-training-toolkit, environment variables (2022 on)."""
_LONGEST = 400
_MOST = 4096


class ProcessListsParser(LineParser, name="process-lists", sampled=True):
    """Parser of lines that tell which process has which rank."""

    def __init__(self) -> None:
        self._containers: tuple[Line, tuple[str, ...]] | None = None
        self._gpus: set[int] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which process has which rank."""
        text = line.text
        self._container(line)
        started = line.says(_STARTED, within=True)
        if started is not None:
            yield WorldSeen(
                **place(line),
                listed=True,
                local_rank=LocalRank(int(started["local"])),
                pid=int(started["pid"]),
            )
            return
        row = _INTEL.match(text)
        if row is not None:
            yield WorldSeen(
                **place(line),
                listed=True,
                rank=Rank(int(row["rank"])),
                pid=int(row["pid"]),
                host=row["host"],
            )
            return
        if len(text) > _LONGEST or _FAILING.search(text) is not None:
            return
        for part in text.split(";"):
            yield from _of_one(line, part)
        yield from _of_a_host(line)

    def _container(self, line: Line) -> None:
        """Keep the containers of a SageMaker job, and how many GPUs each has."""
        hosts, gpus = _CONTAINERS.search(line.text), _OWN_GPUS.search(line.text)
        if hosts is not None and self._containers is None:
            self._containers = (line, tuple(re.findall(r"[\w.-]+", hosts["hosts"])))
        if gpus is not None:
            self._gpus.add(int(gpus["count"]))

    def finish(self) -> Iterator[Event]:
        """Containers with one GPU each have the ranks of their places in the list."""
        if self._containers is None or not self._gpus or max(self._gpus) > 1:
            return
        line, hosts = self._containers
        for rank, host in enumerate(hosts):
            yield WorldSeen(
                **place(line), listed=True, rank=Rank(rank), host=host, world_size=len(hosts)
            )


def _of_one(line: Line, text: str) -> Iterator[WorldSeen]:
    ranks = {
        int(match["rank"])
        for match in _RANK.finditer(text)
        if _OTHER_AXIS.search(text, 0, match.start()) is None
    }
    spoken = line.origin.rank is not None and _PAIRS.fullmatch(text) is not None
    if spoken and not ranks:  # its first pair was taken for a prefix
        ranks = {int(line.origin.rank or 0)}
    if len(ranks) > 1 or (not ranks and line.origin.task is None):
        return
    rank = Rank(ranks.pop()) if ranks else None
    local, pid, host, size = (pattern.search(text) for pattern in (_LOCAL, _PID, _HOST, _WORLD))
    own = line.origin
    named = own.rank is None and (own.host, own.pid, own.local_rank, own.task) != (None,) * 4
    if local is None and pid is None and host is None and not (named and size is not None):
        return
    if rank is None and None in (local, host):
        return  # the number of a task beside its place on a host tells how tasks are counted
    elsewhere = pid is not None or host is not None
    yield WorldSeen(
        **place(line),
        listed=elsewhere and not spoken,
        rank=rank,
        local_rank=None if local is None else LocalRank(int(local["local"])),
        pid=None if pid is None else int(pid["pid"]),
        host=(host["host"] or host["on"]) if host is not None else own.host,
        task=own.task,
        world_size=None if size is None else int(size["size"]),
    )


def _of_a_host(line: Line) -> Iterator[WorldSeen]:
    """All ranks of the host that prints the line, or of those in a table."""
    told = _NODE_RANKS.search(line.text)
    if told is not None and line.origin.host is not None and line.origin.rank is None:
        for rank in _ranks(told):
            yield WorldSeen(**place(line), listed=True, rank=Rank(rank), host=line.origin.host)
        return
    hosted = _HOSTED.fullmatch(line.text.strip())
    if hosted is not None and (host := hosted["host"] or line.origin.host) is not None:
        first, last = int(hosted["first"]), int(hosted["last"])
        for rank in range(first, last + 1) if last < first + _MOST else ():
            yield WorldSeen(**place(line), listed=True, rank=Rank(rank), host=host)
        return
    table = _TABLE.search(line.text)
    if table is None:
        return
    rows = [(int(a), int(b), host) for a, b, host in _ROW.findall(table["rows"])]
    if sum(max(0, last - first) for first, last, _ in rows) > _MOST:
        return
    for first, last, host in rows:
        for rank in range(first, last + 1):
            yield WorldSeen(**place(line), listed=True, rank=Rank(rank), host=host)


def _ranks(told: re.Match[str]) -> list[int]:
    if told["more"] is not None:
        return [int(told["first"]), *map(int, re.findall(r"\d+", told["more"]))]
    first, last = int(told["first"]), int(told["last"])
    pair = "," in told[0][told.start("first") - told.start() :]
    if pair:
        return [first, last]
    return list(range(first, last + 1)) if first <= last < first + _MOST else []
