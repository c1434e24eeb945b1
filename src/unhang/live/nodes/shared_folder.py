"""Nodes that talk through a folder which all of them can write.

    nodes/<host>.json          the newest report of a node
    instructions.json          what the judging node says
    evidence/<number>/<host>/  files for the dumps of that number; `complete` is written last

What an earlier run left here is told by its standing still: only a file that changes under our eyes
is believed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

from unhang.live.books.folder import RunFolder
from unhang.live.books.record import write_json
from unhang.live.messages.instructions import Instructions
from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import NodeReport
from unhang.live.messages.wire import node_from_json, node_to_json
from unhang.live.nodes.inbox import Inbox

_PAUSE_S = 0.5
_COMPLETE = "complete"
_NODES, _INSTRUCTIONS, _EVIDENCE = "nodes", "instructions.json", "evidence"


class FolderHub(Inbox):
    """The judging node's side: a thread looks again and again.

    Args:
        shared: the folder.
        folder: where evidence goes.
        lose: told what could not be read or written.
    """

    def __init__(self, shared: Path, folder: RunFolder, lose: Callable[[Loss], None]) -> None:
        super().__init__(folder)
        self._shared = shared
        self._lose = lose
        self._seen: dict[str, bytes] = {}
        self._taken: set[Path] = set((shared / _EVIDENCE).glob(f"*/*/{_COMPLETE}"))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="shared-folder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._over.set()
        self._thread.join(2 * _PAUSE_S)

    def _work(self) -> None:
        while not self._over.wait(_PAUSE_S):
            self._try()

    def _try(self) -> None:
        try:
            self._look()
        except OSError as error:
            self._lose(Loss.of("shared_silent", why=error.strerror or str(error)))

    def _look(self) -> None:
        self._shared.mkdir(parents=True, exist_ok=True)
        write_json(self._shared / _INSTRUCTIONS, self.instructions.to_json())
        for path in (self._shared / _NODES).glob("*.json"):
            self._read(path)
        for mark in set((self._shared / _EVIDENCE).glob(f"*/*/{_COMPLETE}")) - self._taken:
            self._taken.add(mark)
            self._take(mark.parent)

    def _read(self, path: Path) -> None:
        data = path.read_bytes()
        before = self._seen.get(path.name)
        self._seen[path.name] = data
        if before is None or before == data:
            return
        try:
            item = json.loads(data)
        except ValueError:
            return
        report = node_from_json(item) if isinstance(item, dict) else None
        if report is not None:
            self.put(report)

    def _take(self, place: Path) -> None:
        for path in place.rglob("*"):
            if path.is_file() and path.name != _COMPLETE:
                try:
                    self.keep(str(path.relative_to(place)), path.read_bytes())
                except ValueError as error:
                    self._lose(Loss.of("file_refused", node=place.name, why=str(error)))
        self.mark(int(place.parent.name), place.name)


class FolderCarrier:
    """The other nodes' side.

    Args:
        shared: the folder.
        host: label of this node.
    """

    def __init__(self, shared: Path, host: str) -> None:
        self._shared = shared
        self._host = host
        self._number = 0
        self._before: Instructions | None = None

    def exchange(self, report: NodeReport) -> Instructions | None:
        """Write the report, read the instructions once they were seen to change."""
        nodes = self._shared / _NODES
        nodes.mkdir(parents=True, exist_ok=True)
        write_json(nodes / f"{self._host}.json", node_to_json(report))
        try:
            data = json.loads((self._shared / _INSTRUCTIONS).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        told = Instructions.from_json(data)
        before, self._before = self._before, told
        alive = before is not None and told is not None and told.beat != before.beat
        return told if alive else None

    def put(self, name: str, data: bytes) -> None:
        """Lay a file of evidence ready; `mark` makes it known."""
        path = self._shared / _EVIDENCE / "coming" / self._host / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def mark(self, number: int, host: str) -> None:
        """Show everything that was laid ready, at once."""
        coming = self._shared / _EVIDENCE / "coming" / host
        place = self._shared / _EVIDENCE / str(number)
        place.mkdir(parents=True, exist_ok=True)
        coming.mkdir(parents=True, exist_ok=True)
        coming.replace(place / host)
        (place / host / _COMPLETE).touch()

    def close(self) -> None:
        """Nothing is held open."""
