"""What other nodes have told the judging one, until its agent looks; filled from other threads."""

from __future__ import annotations

import threading

from unhang.live.books.folder import RunFolder
from unhang.live.messages.instructions import Instructions
from unhang.live.messages.reports import NodeReport
from unhang.live.nodes import evidence

_MOST_HOSTS = 4096
_MOST_MARKS = 1000


class Inbox:
    """Bounded by itself: of each host it holds the newest report only.

    Args:
        folder: where evidence goes.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._reports: dict[str, NodeReport] = {}
        self._delivered: dict[int, set[str]] = {}
        self._kept_bytes = 0
        self.instructions = Instructions(beat=0)

    def put(self, report: NodeReport) -> None:
        """Take a report.

        Raises:
            ValueError: there are too many hosts.
        """
        with self._lock:
            if report.host not in self._reports and len(self._reports) >= _MOST_HOSTS:
                raise ValueError(f"more than {_MOST_HOSTS} hosts report")
            self._reports[report.host] = report

    def reports(self) -> list[NodeReport]:
        """Hand out what has come since the last call."""
        with self._lock:
            reports, self._reports = self._reports, {}
        return list(reports.values())

    def keep(self, name: str, data: bytes) -> None:
        """Take a piece of evidence.

        Raises:
            ValueError: it is not one that we take.
            OSError: it cannot be written.
        """
        with self._lock:
            self._kept_bytes += len(data)
            too_much = self._kept_bytes > evidence.MOST_BYTES
        if too_much:
            raise ValueError(f"more than {evidence.MOST_BYTES} bytes of evidence")
        evidence.keep(self._folder, name, data)

    def mark(self, number: int, host: str) -> None:
        """A host has delivered everything about the dumps of that number."""
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
