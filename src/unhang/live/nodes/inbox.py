"""What other nodes have told the judging one, until its agent looks; filled from other threads."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from unhang.live.messages.instructions import Instructions
from unhang.live.messages.reports import NodeReport
from unhang.live.nodes import evidence
from unhang.live.run_folder.layout import RunFolder
from unhang.model.ids import Rank

_MOST_HOSTS = 4096
_MOST_MARKS = 1000
_MOST_FILES = 100_000
_MOST_RANKS = 1 << 20
_OWNED_S = 60.0
_HELD_S = 5.0
"""A rank moves to another node when its job starts anew there; two nodes at once have it never."""


class NotYours(ValueError):
    """A node speaks for another one."""


class Inbox:
    """Bounded by itself: of each host it holds the newest report only.

    A node speaks for itself: for its own label, which for a while belongs to the address that used
    it first; for ranks that no other node reports just now; and it writes below its own names, and
    over nothing that it has not written.

    Args:
        folder: where evidence goes.
        own: label of the judging node, for which nobody else speaks; None = unknown.
    """

    def __init__(self, folder: RunFolder, own: str | None = None) -> None:
        self._folder = folder
        self._own = own
        self._peers: dict[str, tuple[str, float]] = {}
        self._holders: dict[Rank, tuple[str, float]] = {}
        self._written: dict[str, str] = {}
        self._lock = threading.Lock()
        self._reports: dict[str, NodeReport] = {}
        self._delivered: dict[int, set[str]] = {}
        self._kept_bytes = 0
        self.instructions = Instructions(beat=0)

    def admit(self, node: str, peer: str) -> None:
        """Let a node speak from an address.

        Raises:
            NotYours: the label is ours, or another address has used it a moment ago.
        """
        now = time.monotonic()
        with self._lock:
            holder, heard_s = self._peers.get(node, (peer, now))
            if node == self._own or (holder != peer and now - heard_s < _OWNED_S):
                raise NotYours(f"{node} is another node")
            if len(self._peers) < _MOST_HOSTS or node in self._peers:
                self._peers[node] = (peer, now)

    def put(self, report: NodeReport) -> None:
        """Take a report.

        Raises:
            ValueError: there are too many hosts, or it speaks for this one.
        """
        if report.host == self._own:
            raise NotYours("nobody reports for the judging node")
        with self._lock:
            report = self._of_its_own_ranks(report)
            if report.host not in self._reports and len(self._reports) >= _MOST_HOSTS:
                raise ValueError(f"more than {_MOST_HOSTS} hosts report")
            self._reports[report.host] = report

    def reports(self) -> list[NodeReport]:
        """Hand out what has come since the last call."""
        with self._lock:
            reports, self._reports = self._reports, {}
        return list(reports.values())

    def keep(self, name: str, data: bytes, node: str) -> None:
        """Take a piece of evidence of a node.

        Raises:
            ValueError: it is not one that we take, or that this node may give.
            OSError: it cannot be written.
        """
        with self._lock:
            mine = self._written.get(name) == node
            if not mine and (
                evidence.is_of_another(name, node) or evidence.is_there(self._folder, name)
            ):
                raise NotYours(f"{node} may not write {name[:100]}")
            if len(self._written) < _MOST_FILES:
                self._written[name] = node
            self._kept_bytes += len(data)
            too_much = self._kept_bytes > evidence.MOST_BYTES
        if too_much:
            raise ValueError(f"more than {evidence.MOST_BYTES} bytes of evidence")
        evidence.keep(self._folder, name, data)

    def _of_its_own_ranks(self, report: NodeReport) -> NodeReport:
        """A report without ranks that another node reports just now."""
        now = time.monotonic()
        kept = []
        for process in report.processes:
            rank = process.beat.rank
            holder, heard_s = (
                self._holders.get(rank, (report.host, now))
                if rank is not None
                else (report.host, now)
            )
            if holder != report.host and now - heard_s < _HELD_S:
                continue
            kept.append(process)
            if (
                rank is not None
                and process.beat.state == "running"
                and len(self._holders) < _MOST_RANKS
            ):
                self._holders[rank] = (report.host, now)
        return (
            report if len(kept) == len(report.processes) else replace(report, processes=tuple(kept))
        )

    def mark(self, number: int, host: str, node: str) -> None:
        """A host has delivered everything about the dumps of that number.

        Raises:
            NotYours: another node says so.
        """
        if node != host:
            raise NotYours(f"{node} delivers for {host}")
        with self._lock:
            if len(self._delivered) < _MOST_MARKS or number in self._delivered:
                self._delivered.setdefault(number, set()).add(host)

    def delivered(self, number: int) -> frozenset[str]:
        """Hosts that have."""
        with self._lock:
            return frozenset(self._delivered.get(number, ()))

    def publish(self, instructions: Instructions) -> None:
        """What every answer says from now on."""
        self.instructions = instructions
