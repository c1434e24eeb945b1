"""From Ray's reports to actors that died and nodes that were lost.

Reads::

    A worker died or was killed … Worker IP address: 10.0.0.2 … Worker PID: 830
        Worker exit type: SYSTEM_ERROR Worker exit detail: …
    ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.
            class_name: WorkerDict
            pid: 830
            ip: 10.0.0.2
    Task was killed due to the node running low on memory.
    The node with node id: … and address: 10.0.0.2 … has been marked dead because …
    The node with node id: … and ip: 10.0.0.2 has been marked dead because … (Ray 1)

Traps: "(1) The process is killed by SIGKILL by OOM killer …" is part of a fixed list of
possibilities, no evidence; an actor that the driver ends (`INTENDED_…`) did not fail.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, ProcessEnded, Reporter, StopKind, StopSeen, WorldSeen
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.base import LineParser, place, place_on
from unhang.sources.line import Line

_EXIT_TYPE = re.compile(r"Worker exit type:\s*(?P<type>[A-Z_]+)")
_PID = re.compile(r"(?:Worker PID|\bpid):\s*(?P<pid>\d{1,10})")
_IP = re.compile(r"(?:Worker IP address|\bip):\s*(?P<ip>[\w.:-]{1,64})")
_NAME = re.compile(r"\bname[:=]\s*\w{1,80}_(?P<node>\d{1,4}):(?P<local>\d{1,3})(?=,|\s*$)")
"""verl names its workers after node and place (single_controller/ray/base.py, 0.4)."""
_DIED = re.compile(
    r"The actor (?:(?P<begins>died unexpectedly)|is dead because its worker process has died)"
)
_MEMORY = re.compile(
    r"killed due to (?:the node running low on memory|memory pressure)|"
    r"node running low on memory|exceeds the memory usage threshold",
    re.IGNORECASE,
)
_MEMORY_PID = re.compile(r"pid=(?P<pid>\d{1,10})")
_MEMORY_IP = re.compile(r"\bIP: (?P<ip>[\w.:-]{1,64})")
_NODE = re.compile(
    r"node with node id: \w+ and (?:address|ip): (?P<ip>[\w.:-]{1,64}).{0,120}has been marked dead"
)
_NODE_DEAD = re.compile(r"because its node has died\b")
_OWN_EXITS = frozenset({"SYSTEM_ERROR", "USER_ERROR", "NODE_OUT_OF_MEMORY"})


class RayActorsParser(LineParser, name="ray-actors", after=8):
    """Parser of Ray's death reports."""

    def __init__(self) -> None:
        self._died: Line | None = None
        self._name: re.Match[str] | None = None
        self._pid: int | None = None
        self._ip: str | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which actor died; the report may span lines."""
        text = line.text
        node = _NODE.search(text)
        if node is not None or line.says(_NODE_DEAD, within=True):
            host = self._ip if node is None else node["ip"]
            yield StopSeen(**place_on(line, host), kind=StopKind.NODE_FAILED)
        elif _MEMORY.search(text):
            pid, host = _MEMORY_PID.search(text), _MEMORY_IP.search(text)
            name = _NAME.search(text)
            rank, local = _of_name(name)
            yield from _node_of(line, name, None if host is None else host["ip"])
            yield ProcessEnded(
                **place(line),
                reporter=Reporter.RAY,
                rank=rank,
                local_rank=local,
                pid=None if pid is None else int(pid["pid"]),
                host=None if host is None else host["ip"],
                signal=9,
                oom=True,
            )
        yield from self._reports(line)

    def finish(self) -> Iterator[Event]:
        """Say a report that ended with the artifact."""
        if self._died is not None:
            yield from self._ended(self._died)
        self._died = self._pid = self._ip = self._name = None

    def _reports(self, line: Line) -> Iterator[Event]:
        died = line.says(_DIED, within=True)
        # The second sentence goes on with the report that the first one began.
        if line.gap or (died is not None and self._died is not None and died["begins"]):
            yield from self.finish()
        if died is not None:
            self._died = self._died or line
        pid, ip = _PID.search(line.text), _IP.search(line.text)
        self._pid = self._pid if pid is None else int(pid["pid"])
        self._ip = self._ip if ip is None else ip["ip"]
        self._name = _NAME.search(line.text) or self._name
        exit_type = _EXIT_TYPE.search(line.text)
        if exit_type is None:
            return
        if exit_type["type"] in _OWN_EXITS:
            yield from self._ended(
                self._died or line, oom=exit_type["type"] == "NODE_OUT_OF_MEMORY"
            )
        self._died = self._pid = self._ip = self._name = None

    def _ended(self, line: Line, *, oom: bool = False) -> Iterator[Event]:
        rank, local = _of_name(self._name)
        yield from _node_of(line, self._name, self._ip)
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.RAY,
            rank=rank,
            local_rank=local,
            pid=self._pid,
            host=self._ip,
            signal=9 if oom else None,
            exit_code=None if oom else 1,
            oom=oom,
        )


def _node_of(line: Line, name: re.Match[str] | None, host: str | None) -> Iterator[Event]:
    """Which of the job's nodes a host is, by the name of a worker on it."""
    if name is not None:
        yield WorldSeen(**place(line), node_rank=int(name["node"]), host=host, listed=True)


def _of_name(name: re.Match[str] | None) -> tuple[Rank | None, LocalRank | None]:
    """Rank and local rank of a worker; ranks of the first node are its local ones."""
    if name is None:
        return None, None
    local = int(name["local"])
    return Rank(local) if int(name["node"]) == 0 else None, LocalRank(local)
