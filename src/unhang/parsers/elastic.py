"""From torchrun's agent to exits, closing signals, stops and restarts (torch 1.9 to 2.13).

Reads::

    failed (exitcode: -9) local_rank: 3 (pid: 20549) of binary: /opt/venv/bin/python3
    Sending process 20546 closing signal SIGTERM
    Received Signals.SIGTERM death signal, shutting down workers
    [default] Worker group FAILED. 2/3 attempts left; will restart worker group
    Root Cause (first observed failure):
    [0]:
      time      : 2026-11-21_01:38:58
      host      : node1
      rank      : 2 (local_rank: 2)
      exitcode  : -6 (pid: 11896)  (SIGABRT)

Traps: the agent's `local_rank` is not global, the table's `rank` is; "Root Cause (first observed
failure)" is the first child *polled*, one table for each node; -15 and the closing signals name
victims; an exit by -6 is often the own watchdog. A screenshot's text loses colons and underscores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.model.events import (
    ClosingSignal,
    Event,
    ProcessEnded,
    Reporter,
    Restarted,
    StopKind,
    StopSeen,
)
from unhang.model.forms import named
from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import Origin
from unhang.model.time import Instant, local_instant
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.signals import signal_number, split_exit
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/elastic.toml")
_FAILED = _PATTERNS["failed"]
_CHILD = _PATTERNS["child"]
_CLOSING = _PATTERNS["closing"]
_FORCED = _PATTERNS["forced"]
_DEATH = re.compile(r"Received\s*(?P<signal>[\w.]+)\s*death\s*signal")
_GOT_SIGNAL = re.compile(r"Process \d{1,10} got signal:\s*(?P<signal>[\w.]{1,40})")
_ATTEMPTS = _PATTERNS["attempts"]
_REGROUP = re.compile(r"Detected \d+ new nodes? .{0,60}will restart worker group")
_ROOT = re.compile(r"Root Cause(?:\s*\(first observed failure\)\s*)?\s*:")
_OTHERS = re.compile(r"(?:^|\s)(?:Other )?Failures:")
_TIME = re.compile(r"\btime\s*:\s*(?P<time>\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)")
_HOST = re.compile(r"\bhost\s*:\s*(?P<host>[\w.:-]{1,200})")
_RANK = re.compile(r"\brank\s*:?\s*(?P<rank>\d{1,7})\s*\(local[_ ]rank:\s*(?P<local>\d{1,6})\)")
_EXITCODE = re.compile(r"exitcode\s*:\s*(?P<code>-?\d{1,9})\s*\(pid:\s*(?P<pid>\d{1,10})\)")

_DEEP = " " * 5
"""The table is not indented where the agent prints it; a text that quotes it is."""

_STOPS = {1: StopKind.HANGUP, 2: StopKind.INTERRUPT, 15: StopKind.TERMINATED}


@dataclass(slots=True)
class _Row:
    """An entry of a failure table that is being read."""

    root: bool = False
    at: Instant | None = None
    host: str | None = None
    rank: Rank | None = None
    local_rank: LocalRank | None = None


class ElasticParser(LineParser, name="elastic", after=8):
    """Parser of torchrun's agent lines and of its failure table."""

    def __init__(self) -> None:
        self._rows: dict[Origin, _Row] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Say what one line of the agent or of its table tells."""
        yield from _agent(line)
        yield from self._table(line)

    def _table(self, line: Line) -> Iterator[Event]:
        row = self._rows.setdefault(line.origin, _Row())
        if line.gap or _OTHERS.search(line.text):
            row = self._rows[line.origin] = _Row()
        if line.says(_ROOT, within=True):
            row = self._rows[line.origin] = _Row(root=True)
        _read_cells(row, line.text)
        code = line.says(_EXITCODE, within=True)
        if code is None or row.rank is None or line.raw.startswith(_DEEP):
            return
        number, exit_code = split_exit(int(code["code"]))
        fields = place(line)
        fields["at"] = line.at if row.at is None else row.at
        yield ProcessEnded(
            **fields,
            reporter=Reporter.ELASTIC_TABLE,
            rank=row.rank,
            local_rank=row.local_rank,
            pid=int(code["pid"]),
            host=row.host,
            signal=number,
            exit_code=exit_code,
            reported_first=row.root,
        )
        self._rows[line.origin] = _Row(root=row.root)


def _read_cells(row: _Row, text: str) -> None:
    """Take over the cells that a line of the table holds."""
    time, host, rank = _TIME.search(text), _HOST.search(text), _RANK.search(text)
    if time is not None:
        row.at = local_instant(time["time"])
    if host is not None:
        row.host = host["host"]
    if rank is not None:
        row.rank, row.local_rank = Rank(int(rank["rank"])), LocalRank(int(rank["local"]))


def _agent(line: Line) -> Iterator[Event]:
    """Single lines of the agent."""
    for match in (*line.sayings(_FAILED), *line.sayings(_CHILD)):
        number, exit_code = split_exit(int(match["code"]))
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.ELASTIC,
            local_rank=LocalRank(int(match["local"])),
            pid=None if match["pid"] is None else int(match["pid"]),
            signal=number,
            exit_code=exit_code,
            reported_first=True,
        )
    for match in (*line.sayings(_CLOSING), *line.sayings(_FORCED)):
        number = signal_number(match["signal"])
        if number is not None:
            yield ClosingSignal(**place(line), pid=int(match["pid"]), signal=number)
    for match in (*line.sayings(_DEATH), *line.sayings(_GOT_SIGNAL)):
        kind = _STOPS.get(signal_number(match["signal"]) or 0)
        if kind is not None:
            yield StopSeen(**place(line), kind=kind)
    yield from _restarts(line)


def _restarts(line: Line) -> Iterator[Event]:
    """Restarts of the worker group."""
    attempts = line.says(_ATTEMPTS)
    if attempts is not None:
        yield Restarted(**place(line), attempts_left=int(attempts["left"]))
    elif line.says(_REGROUP):
        yield Restarted(**place(line))
