"""What `unhang run` and its probes left of this run: output, events, boards, stacks and dumps.

Of the dumps only the newest order counts: older ones tell of earlier suspicions. What was written
on another host, or by a rank, is filed under that host and that rank, whom the boards tell.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from unhang.capturing.reading import ReadAnswer, ReadRequest
from unhang.capturing.source_context import SourceContext, Stop, refused, unreadable
from unhang.capturing.spec import About, Piece, PieceFormat, Spec
from unhang.capturing.specs.output import joined
from unhang.probe import board

_LEFT_OUT = frozenset({"captures", "dumps", "boards"})
_DATA = re.compile(r"\.sqlite|\.part$|\.tmp$|^done_")
_OF_A_RANK = re.compile(r"(?P<kind>stack|trace)_(?P<rank>\d{1,7})(?:\.|$)")
_ANOTHER_RUN = re.compile(r"run-\d{1,6}")
_HEAD_BYTES = 256 << 10
_MOST_FILES = 20_000
_DUMP_BYTES = 64 << 20
_MOST_BYTES = 384 << 20
"""Of all files together: the dumps of a thousand ranks are more than a bundle is for."""


@dataclass(slots=True)
class _Crew:
    """Who wrote what, by the boards: the rank of each `<host>-<pid>`, the host of each rank."""

    ranks: dict[str, int] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)

    def meet(self, name: str, beat: dict[str, object]) -> None:
        """Note who pinned a board."""
        rank, host = beat.get("rank"), beat.get("host")
        if isinstance(rank, int):
            self.ranks[name] = rank
            if isinstance(host, str):
                self.hosts[rank] = host


def gather(context: SourceContext) -> Iterator[Piece]:
    """Boards, then dumps, which tell most, then the rest by name."""
    root = context.job.run_folder
    crew = _Crew()
    for name, pinned in _boards(root):
        crew.meet(name, pinned.beat)
        told = {"beats": pinned.beats, "monotonic_s": pinned.monotonic_s, "beat": pinned.beat}
        yield Piece(name=f"boards/{name}.json", data=json.dumps(told).encode() + b"\n")
    dumps = [path for folder in context.job.dumps or _newest_dumps(root) for path in _in(folder)]
    wanted = [ReadRequest(str(path), "head", _DUMP_BYTES) for path in dumps]
    wanted.extend(ReadRequest(str(path), "tail", context.limit_bytes) for path in _files(root))
    room = _MOST_BYTES
    missing: Stop | None = None
    for answer in context.read(*wanted):
        room -= len(answer.data)
        if room < 0:
            raise refused("full", size=len(answer.data))
        if answer.error is not None and not answer.gone:
            missing = missing or unreadable(answer)
        elif answer.data:
            yield _piece(context, answer, root, crew)
    if missing is not None:
        raise missing


def _piece(context: SourceContext, answer: ReadAnswer, root: Path | None, crew: _Crew) -> Piece:
    path = Path(answer.request.path)
    if answer.request.action == "head":
        host, name = _place_of_dump(path.name, crew)
        form = PieceFormat.PICKLE if answer.data.startswith(b"\x80") else PieceFormat.TEXT
        return Piece(name=name, host=host, data=answer.data, form=form, cut=answer.cut)
    assert root is not None
    host, name = _place(path.relative_to(root), crew)
    data = answer.data
    if answer.cut:
        head = context.one(ReadRequest(str(path), "head", _HEAD_BYTES))
        data = joined(head, answer)
    return Piece(name=name, host=host, data=data, cut=answer.cut)


def _place_of_dump(name: str, crew: _Crew) -> tuple[str | None, str]:
    """The host, where it is known, and the name in the bundle."""
    found = _OF_A_RANK.match(name)
    if found is None:
        return None, f"dumps/{name}"
    rank = int(found["rank"])
    stack = found["kind"] == "stack"
    return crew.hosts.get(rank), f"rank_{rank}/probe-stack.txt" if stack else f"dumps/{name}"


def _place(path: Path, crew: _Crew) -> tuple[str | None, str]:
    """The same for a file of another kind."""
    folder, *rest = path.parts
    if folder == "output" and len(rest) > 1:
        return rest[0], "/".join(("output", *rest[1:]))
    rank = crew.ranks.get(path.stem) if folder == "stacks" else None
    if rank is None:
        return None, str(path)
    return crew.hosts.get(rank), f"rank_{rank}/probe-frozen.txt"


def _newest_dumps(root: Path | None) -> tuple[Path, ...]:
    if root is None or not (root / "dumps").is_dir():
        return ()
    orders = [path for path in (root / "dumps").iterdir() if path.name.isdigit()]
    return (max(orders, key=lambda path: int(path.name)),) if orders else ()


def _in(folder: Path) -> list[Path]:
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in found if _DATA.search(path.name) is None]


def _boards(root: Path | None) -> Iterator[tuple[str, board.Pinned]]:
    """The last beat of each process, by `<host>-<pid>`."""
    folder = None if root is None else root / "boards"
    for path in sorted(folder.glob("*.board")) if folder is not None else ():
        pinned = board.read(str(path))
        if pinned is not None:
            yield path.stem, pinned


def _files(root: Path | None) -> Iterator[Path]:
    """All other files of this run, by name."""
    count = 0
    for folder, below, names in os.walk(root) if root is not None else ():
        if Path(folder) == root:
            below[:] = [n for n in below if n not in _LEFT_OUT and not _ANOTHER_RUN.fullmatch(n)]
        below.sort()
        for name in sorted(names):
            count += 1
            if count > _MOST_FILES:
                return
            if _DATA.search(name) is None:
                yield Path(folder) / name


SPEC = Spec(
    name="run-folder", about=About.RUN, gather=gather, limit_s=15.0, limit_bytes=8 << 20, order=0
)
