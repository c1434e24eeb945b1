"""From answers of NCCL's RAS (`ncclras`, port 28028) to what it says of communicators.

Reads (text since NCCL 2.24, operation counts since 2.26)::

    Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
        #  in group  per comm  per node  per comm  in group
        0         1         4         8        32        32   RUNNING  MISMATCH
    #0-0 (fa93daea854b060b) MISMATCH
      Communicator ranks have different AllGather operation counts
      30 ranks have launched up to operation 640
      Rank 12 has launched up to operation 641 -- GPU 4 managed by process 3230 on node 10.0.0.7
      2 ranks have not launched any operations
      Rank 3 -- GPU 3 managed by process 3229 on node 10.0.0.7
    #1-0 (93d7…) INCOMPLETE
      Missing communicator data from 1 rank
    1 job process is considered dead (unreachable via the RAS network)
      Process 6000 on node 10.0.0.7 managing GPU 0

Traps: RAS lists the minority by name, which is ahead as often as behind; it counts launches, not
completions, so that OK says nothing of a network that is stuck; a job that is well shows MISMATCH
for a moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from unhang import lazy_re as re
from unhang.model.events import Event, RasGroup, RasProblem, RasReport
from unhang.model.ids import Rank
from unhang.parsers.base import EventFields, LineParser, place
from unhang.sources.line import Line

_ROW = re.compile(
    r"^\s*(?P<group>\d{1,6})\s+\d{1,6}\s+[\d-]{1,13}\s+[\d-]{1,13}\s+(?P<size>\d{1,7})\s+\d{1,7}"
    r"\s+(?P<status>[A-Z,]{3,60})\s+(?P<errors>[A-Z,]{2,60})\s*$"
)
_BLOCK = re.compile(
    r"^\s*#(?P<group>\d{1,6})-\d{1,6} \((?P<hash>[0-9a-f]{4,32})\) (?:MISMATCH|INCOMPLETE|ERROR)"
)
_COUNTS = re.compile(r"ranks have different (?P<op>\w{1,40}) operation counts")
_STATUS = re.compile(r"ranks have different status")
_MISSING = re.compile(r"Missing communicator data from (?P<count>\d{1,7}) (?:rank|job process)")
_DEAD = re.compile(r"(?P<count>\d{1,7}) job process(?:es)? (?:is|are)? ?considered dead")
_ERRORS = re.compile(r"(?P<what>Initialization|Asynchronous) errors? on (?P<count>\d{1,7}) rank")
_MANY = re.compile(
    r"^\s*(?P<count>\d{1,7}) ranks (?:have launched up to operation (?P<to>\d{1,18})"
    r"|have status (?P<status>[A-Z]{3,20})|reported (?P<error>.{1,80})|(?P<none>have not launched))"
)
_ONE = re.compile(
    r"^\s*Rank (?P<rank>\d{1,7})(?: has launched up to operation (?P<to>\d{1,18})"
    r"| has status (?P<status>[A-Z]{3,20})| reported (?P<error>.{1,80}?)"
    r"|(?P<none> has not launched any operations))?"
    r" -- (?:GPU .{1,60}? managed by process (?P<pid>\d{1,10}) on node (?P<host>\S{1,120}))?"
)
_PROCESS = re.compile(r"^\s*Process (?P<pid>\d{1,10}) on node (?P<host>\S{1,120}) managing GPU")


@dataclass(slots=True)
class _Group:
    says: str
    count: int
    ranks: set[Rank] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)

    def add(self, found: re.Match[str]) -> None:
        """Add a rank or a process that is listed by name."""
        told = found.groupdict()
        if told.get("rank") is not None:
            self.ranks.add(Rank(int(told["rank"])))
        if told.get("pid") is not None:
            self.pids.add(int(told["pid"]))
        if told.get("host") is not None:
            self.hosts.add(told["host"])


@dataclass(slots=True)
class _OpenReport:
    where: EventFields
    problem: RasProblem
    comm: str
    size: int | None
    op: str | None = None
    groups: list[_Group] = field(default_factory=list)


class RasParser(LineParser, name="ras", after=16):
    """Parser of RAS answers in text."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._well: EventFields | None = None
        self._troubled = False
        self._comm: tuple[str, int | None] = ("", None)
        self._open: _OpenReport | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Say a report when the next one begins."""
        row = _ROW.match(line.text)
        if row is not None:
            self._sizes[row["group"]] = int(row["size"])
            self._troubled = self._troubled or row["errors"] != "OK"
            self._well = self._well or place(line)
            return
        block = _BLOCK.match(line.text)
        if block is not None:
            yield from self._close()
            self._comm = block["hash"], self._sizes.get(block["group"])
            return
        begun = self._begin(line)
        if begun is not None:
            yield from self._close()
            self._open = begun
        elif self._open is not None:
            _take(self._open, line.text)

    def finish(self) -> Iterator[Event]:
        """Say the last report, or that all was well."""
        yield from self._close()
        if self._well is not None and not self._troubled:
            yield RasReport(
                **self._well,
                problem=RasProblem.NONE,
                size=max(self._sizes.values(), default=None),
            )

    def _begin(self, line: Line) -> _OpenReport | None:
        """The report that begins at a line, or None."""
        comm, size = self._comm
        counts = _COUNTS.search(line.text)
        if counts is not None:
            return _OpenReport(place(line), RasProblem.COUNTS_DIFFER, comm, size, counts["op"])
        if _STATUS.search(line.text) is not None:
            return _OpenReport(place(line), RasProblem.STATUS_DIFFERS, comm, size)
        errors = _ERRORS.search(line.text)
        if errors is not None:
            return _OpenReport(place(line), RasProblem.ERROR, comm, size, errors["what"].lower())
        missing = _MISSING.search(line.text)
        if missing is not None:
            group = _Group("missing", int(missing["count"]))
            return _OpenReport(place(line), RasProblem.NO_ANSWER, comm, size, groups=[group])
        dead = _DEAD.search(line.text)
        if dead is None:
            return None
        group = _Group("dead", int(dead["count"]))
        return _OpenReport(place(line), RasProblem.NO_ANSWER, "", None, groups=[group])

    def _close(self) -> Iterator[Event]:
        opened, self._open = self._open, None
        if opened is None or not opened.groups:
            return
        self._troubled = True
        yield RasReport(
            **opened.where,
            problem=opened.problem,
            comm=opened.comm,
            size=opened.size,
            op=opened.op,
            groups=tuple(
                RasGroup(
                    says=group.says,
                    count=group.count,
                    ranks=frozenset(group.ranks),
                    pids=frozenset(group.pids),
                    hosts=frozenset(group.hosts),
                )
                for group in opened.groups
            ),
        )


def _take(opened: _OpenReport, text: str) -> None:
    """Add a line of a report to it."""
    many = _MANY.match(text)
    if many is not None:
        opened.groups.append(_Group(_said(many), int(many["count"])))
        return
    one = _ONE.match(text)
    if one is not None:
        said = _said(one)
        if said:
            opened.groups.append(_Group(said, 1))
        if opened.groups:
            opened.groups[-1].add(one)
        return
    process = _PROCESS.match(text)
    if process is not None and opened.groups:
        opened.groups[-1].add(process)


def _said(found: re.Match[str]) -> str:
    """What a line says of its ranks; "" for a rank that is only listed."""
    if found["none"] is not None:
        return "0"
    return found["to"] or found["status"] or found["error"] or ""
