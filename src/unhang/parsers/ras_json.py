"""From answers of NCCL's RAS in JSON (`ncclras -f json`) to what it says of communicators.

Reads (NCCL 2.28.7 and later), on one line or on many, also when it was cut or is malformed::

    {"nccl_version": "2.29.1", "timestamp": "2025-12-19 13:06:53", "communicators_count": 1,
     "communicators": [{"hash": "0xae94423cfbb2ef4a", "secondary_hash": "0xb7…:0xb8…", "size": 2,
       "ranks_count": 1, "missing_ranks_count": 1,
       "ranks": [{"rank": 0, "host": "10.0.0.7", "pid": 4711, "cuda_dev": 0, "nvml_dev": 0,
         "status": {"init_state": 0, "async_error": 0, "finalize_called": false,
                    "destroy_flag": false, "abort_flag": false},
         "collective_counts": {"Broadcast": 0, "AllReduce": 640}}],
       "missing_ranks": [{"rank": 1, "host": "10.0.0.7", "pid": 4712, "cuda_dev": 1,
         "status": {"unresponsive": true, "considered_dead": false}}]}],
     "ras": {"collection_time_sec": 0.0, "timeouts_count": 0}}

and what `ncclras -m` prints while it watches, in both forms (2.29 and later)::

    {"timestamp": "2025-12-19 13:07:07", "group": "LIFECYCLE", "event": "PEER_DEAD",
     "peer": {"host": "10.0.0.7", "pid": 4712, "cuda_devs": [1]}, "details": ""}
    [2025-12-19 13:07:07] PEER_DEAD: Process 4712 on node 10.0.0.7 managing GPU 1

Traps: a rank that is missing but neither unresponsive nor dead has not joined, or has left, the
communicator; an answer that was cut tells only of the ranks before the cut, so that it never says
that all is well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, RasGroup, RasProblem, RasReport, VersionSeen
from unhang.model.ids import Rank
from unhang.parsers.base import EventFields, LineParser, place
from unhang.parsers.vocabulary.loose_json import (
    Closed,
    LooseJson,
    Object,
    number_of,
    object_of,
    text_of,
)
from unhang.parsers.vocabulary.ras_answer import (
    Communicator,
    RasMember,
    RasProcess,
    failed,
    reports,
    status_of,
)
from unhang.sources import stamps
from unhang.sources.line import Line

_STAMP = re.compile(stamps.ISO)
_DEAD = re.compile(r"PEER_DEAD: Process (?P<pid>\d{1,10}) on node (?P<host>\S{1,120}) managing GPU")
_COMMUNICATOR = ("communicators",)
_RANK = (*_COMMUNICATOR, "ranks")
_MISSING = (*_COMMUNICATOR, "missing_ranks")


class RasJsonParser(LineParser, name="ras-json", after=40):
    """Parser of RAS answers in JSON, and of what RAS tells while it watches."""

    def __init__(self) -> None:
        self._reader = LooseJson()
        self._number: int | None = None
        self._place: EventFields | None = None
        self._communicators: list[Communicator] = []
        self._members: list[RasMember] = []
        self._dead: list[tuple[EventFields, RasGroup]] = []

    def feed(self, line: Line) -> Iterator[Event]:
        """Say what an answer tells when it ends."""
        dead = _DEAD.search(line.text)
        if dead is not None:
            self._add_dead(place(line), dead["host"], int(dead["pid"]))
            return
        self._place = self._place or place(line)
        goes_on = self._number == line.number
        self._number = line.number
        for closed in self._reader.feed(line.text, goes_on=goes_on):
            yield from self._take(closed)

    def finish(self) -> Iterator[Event]:
        """Say what is known of an answer that was cut, and which processes died meanwhile."""
        for closed in self._reader.close():
            yield from self._take(closed, cut=True)
        if self._dead:
            processes = [group for _, group in self._dead]
            group = RasGroup(
                says="dead",
                count=len(processes),
                pids=frozenset(pid for found in processes for pid in found.pids),
                hosts=frozenset(host for found in processes for host in found.hosts),
            )
            yield RasReport(**self._dead[0][0], problem=RasProblem.NO_ANSWER, groups=(group,))

    def _take(self, closed: Closed, *, cut: bool = False) -> Iterator[Event]:
        path, fields = closed
        if path in (_RANK, _MISSING):
            if cut:
                return  # half a rank
            member = _lost(fields) if path == _MISSING else _member(fields)
            self._members += [] if member is None else [member]
        elif path == _COMMUNICATOR:
            self._add_communicator(fields)
        elif path == () and fields.get("event") == "PEER_DEAD":
            self._peer_is_dead(fields)
        elif path == ():
            yield from self._answer(fields, cut=cut)

    def _add_communicator(self, fields: Object) -> None:
        members, self._members = tuple(self._members), []
        size = number_of(fields.get("size"))
        if members:
            self._communicators.append(
                Communicator(
                    name=text_of(fields.get("hash")).removeprefix("0x"),
                    size=len(members) if size is None else size,
                    members=members,
                )
            )

    def _answer(self, fields: Object, *, cut: bool) -> Iterator[Event]:
        communicators, self._communicators = self._communicators, []
        where, self._place = self._place, None
        if where is None or not communicators:
            return
        where = _told(where, fields, _shown(fields))
        version = text_of(fields.get("nccl_version"))
        if version:
            yield VersionSeen(**where, component="nccl", version=version, basis="ncclras")
        for report in reports(communicators, **where):
            if not (cut and report.problem is RasProblem.NONE):
                yield report

    def _peer_is_dead(self, fields: Object) -> None:
        peer = object_of(fields.get("peer"))
        pid = number_of(peer.get("pid"))
        where, self._place = self._place, None
        if pid is not None and where is not None:
            host = text_of(peer.get("host"))
            self._add_dead(_told(where, fields, f"PEER_DEAD: {host} {pid}"), host, pid)

    def _add_dead(self, where: EventFields, host: str, pid: int) -> None:
        group = RasGroup(says="dead", count=1, pids=frozenset({pid}), hosts=frozenset({host}))
        if all(group != known for _, known in self._dead):
            self._dead.append((where, group))


def _told(where: EventFields, fields: Object, text: str) -> EventFields:
    """The place with a text and the time of its own: the first line is a lone brace."""
    stamp = _STAMP.match(text_of(fields.get("timestamp")))
    at = where["at"] if stamp is None else stamps.instant(stamp)
    return EventFields(source=replace(where["source"], text=text), origin=where["origin"], at=at)


def _shown(fields: Object) -> str:
    """An answer as one line of evidence."""
    known = ("nccl_version", "timestamp", "communicators_count")
    told = [f"{key} {str(fields[key])[:40]}" for key in known if key in fields]
    return ", ".join(["answer of NCCL's RAS", *told])


def _member(fields: Object) -> RasMember | None:
    rank = number_of(fields.get("rank"))
    if rank is None:
        return None
    status = object_of(fields.get("status"))
    init = number_of(status.get("init_state"))
    counts = object_of(fields.get("collective_counts"))
    known = {op: n for op, told in counts.items() if (n := number_of(told)) is not None}
    leaving = status.get("finalize_called") is True or status.get("destroy_flag") is True
    return RasMember(
        rank=Rank(rank),
        process=_process(fields),
        status=status_of(init, finalized=leaving, aborted=status.get("abort_flag") is True),
        counts=known,
        init_error=failed(init),
        async_error=failed(number_of(status.get("async_error"))),
    )


def _lost(fields: Object) -> RasMember | None:
    rank = number_of(fields.get("rank"))
    if rank is None:
        return None
    status = object_of(fields.get("status"))
    gone = "missing" if status.get("unresponsive") is True else ""
    lost = "dead" if status.get("considered_dead") is True else gone
    return RasMember(
        rank=Rank(rank), process=_process(fields), lost=lost, status="" if lost else "NOCOMM"
    )


def _process(fields: Object) -> RasProcess | None:
    pid = number_of(fields.get("pid"))
    if pid is None or pid < 0:
        return None
    return RasProcess(text_of(fields.get("host")), pid, number_of(fields.get("cuda_dev")))
