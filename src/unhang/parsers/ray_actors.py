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

Traps: "(1) The process is killed by SIGKILL by OOM killer …" is part of a fixed list of
possibilities, no evidence; an actor that the driver ends (`INTENDED_…`) did not fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from unhang.model.events import Event, ProcessEnded, Reporter, StopKind, StopSeen
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_EXIT_TYPE = re.compile(r"Worker exit type:\s*(?P<type>[A-Z_]+)")
_PID = re.compile(r"(?:Worker PID|\bpid):\s*(?P<pid>\d{1,10})")
_IP = re.compile(r"(?:Worker IP address|\bip):\s*(?P<ip>[\w.:-]{1,64})")
_NAME = re.compile(r"\bname:\s*\w{1,80}_(?P<node>\d{1,4}):(?P<local>\d{1,3})\s*$")
"""verl names its workers after node and place (single_controller/ray/base.py, 0.4)."""
_DIED = re.compile(r"The actor (?:died unexpectedly|is dead because its worker process has died)")
_MEMORY = re.compile(
    r"killed due to (?:the node running low on memory|memory pressure)|"
    r"node running low on memory|exceeds the memory usage threshold",
    re.IGNORECASE,
)
_MEMORY_PID = re.compile(r"pid=(?P<pid>\d{1,10})")
_NODE = re.compile(
    r"node with node id: \w+ and address: (?P<ip>[\w.:-]{1,64}).{0,120}has been marked dead"
)
_NODE_DEAD = re.compile(r"because its node has died\b")
_OWN_EXITS = frozenset({"SYSTEM_ERROR", "USER_ERROR", "NODE_OUT_OF_MEMORY"})


class RayActorsParser(LineParser, name="ray-actors", after=8):
    """Parser of Ray's death reports."""

    def __init__(self) -> None:
        self._died: Line | None = None
        self._place: tuple[int, int] | None = None
        self._pid: int | None = None
        self._ip: str | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which actor died; the report may span lines."""
        text = line.text
        node = _NODE.search(text)
        if node is not None or line.says(_NODE_DEAD, within=True):
            yield StopSeen(**place(line), kind=StopKind.NODE_FAILED)
        elif _MEMORY.search(text):
            pid = _MEMORY_PID.search(text)
            yield ProcessEnded(
                **place(line),
                reporter=Reporter.RAY,
                pid=None if pid is None else int(pid["pid"]),
                signal=9,
                oom=True,
            )
        yield from self._reports(line)

    def finish(self) -> Iterator[Event]:
        """Say a report that ended with the artifact."""
        if self._died is not None:
            yield self._ended(self._died)
        self._died = self._pid = self._ip = self._place = None

    def _reports(self, line: Line) -> Iterator[Event]:
        if line.gap or (line.says(_DIED, within=True) and self._died is not None):
            yield from self.finish()
        if line.says(_DIED, within=True):
            self._died = line
        pid, ip = _PID.search(line.text), _IP.search(line.text)
        self._pid = self._pid if pid is None else int(pid["pid"])
        self._ip = self._ip if ip is None else ip["ip"]
        if (name := _NAME.search(line.text)) is not None:
            self._place = int(name["node"]), int(name["local"])
        exit_type = _EXIT_TYPE.search(line.text)
        if exit_type is None:
            return
        if exit_type["type"] in _OWN_EXITS:
            yield self._ended(self._died or line, oom=exit_type["type"] == "NODE_OUT_OF_MEMORY")
        self._died = self._pid = self._ip = self._place = None

    def _ended(self, line: Line, *, oom: bool = False) -> ProcessEnded:
        node, local = (None, None) if self._place is None else self._place
        return ProcessEnded(
            **place(line),
            reporter=Reporter.RAY,
            rank=Rank(local) if local is not None and node == 0 else None,
            local_rank=None if local is None else LocalRank(local),
            pid=self._pid,
            host=self._ip,
            signal=9 if oom else None,
            exit_code=None if oom else 1,
            oom=oom,
        )
