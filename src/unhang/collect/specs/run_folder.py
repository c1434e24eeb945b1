"""What `unhang run` and its probes left of this run: output, events, boards, stacks and dumps.

Of the dumps only the newest order counts: older ones tell of earlier suspicions. Stacks are put
into the folders of their ranks, whom the boards tell.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from unhang.collect.reading import Answer, Request
from unhang.collect.spec import About, Desk, Form, Piece, Spec, unreadable
from unhang.collect.specs.output import joined
from unhang.probe import board

_LEFT_OUT = frozenset({"captures", "dumps", "boards", "run-2"})
_DATA = re.compile(r"\.sqlite|\.part$|\.tmp$")
_STACK = re.compile(r"stack_(?P<rank>\d{1,7})\.txt")
_HEAD_BYTES = 256 << 10
_MOST_FILES = 20_000
_DUMP_BYTES = 64 << 20


def gather(desk: Desk) -> Iterator[Piece]:
    """Dumps first: they tell most."""
    root = desk.scene.run_folder
    for folder in desk.scene.dumps or _newest_dumps(root):
        yield from _dumps(desk, folder)
    if root is None:
        return
    ranks: dict[str, int] = {}
    for name, pinned in _boards(root):
        rank = pinned.beat.get("rank")
        if isinstance(rank, int):
            ranks[f"stacks/{name}.txt"] = rank
        told = {"beats": pinned.beats, "monotonic_s": pinned.monotonic_s, "beat": pinned.beat}
        yield Piece(name=f"boards/{name}.json", data=json.dumps(told).encode() + b"\n")
    for path in _files(root):
        name = str(path.relative_to(root))
        own = f"rank_{ranks[name]}/probe-frozen.txt" if name in ranks else name
        yield from _text(desk, path, own)


def _newest_dumps(root: Path | None) -> tuple[Path, ...]:
    if root is None or not (root / "dumps").is_dir():
        return ()
    orders = [path for path in (root / "dumps").iterdir() if path.name.isdigit()]
    return (max(orders, key=lambda path: int(path.name)),) if orders else ()


def _dumps(desk: Desk, folder: Path) -> Iterator[Piece]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith("done_") or not path.is_file():
            continue
        answer = next(desk.read(Request(str(path), "head", _DUMP_BYTES)))
        if answer.error is not None:
            raise unreadable(answer)
        if answer.data:
            form = Form.PICKLE if answer.data.startswith(b"\x80") else Form.TEXT
            stack = _STACK.fullmatch(path.name)
            name = (
                f"dumps/{path.name}" if stack is None else f"rank_{stack['rank']}/probe-stack.txt"
            )
            yield Piece(name=name, data=answer.data, form=form, cut=answer.cut)


def _boards(root: Path) -> Iterator[tuple[str, board.Pinned]]:
    """The last beat of each process, by `<host>-<pid>`."""
    folder = root / "boards"
    for path in sorted(folder.glob("*.board")) if folder.is_dir() else ():
        pinned = board.read(str(path))
        if pinned is not None:
            yield path.stem, pinned


def _files(root: Path) -> Iterator[Path]:
    """All other files, by name."""
    count = 0
    for folder, below, names in os.walk(root):
        if Path(folder) == root:
            below[:] = [name for name in below if name not in _LEFT_OUT]
        below.sort()
        for name in sorted(names):
            count += 1
            if count > _MOST_FILES:
                return
            if _DATA.search(name) is None:
                yield Path(folder) / name


def _text(desk: Desk, path: Path, name: str) -> Iterator[Piece]:
    tail = next(desk.read(Request(str(path), "tail", desk.limit_bytes)))
    if tail.error is not None:
        if tail.gone:
            return
        raise unreadable(tail)
    if not tail.data:
        return
    data = tail.data if not tail.cut else joined(_head(desk, path), tail)
    yield Piece(name=name, data=data, cut=tail.cut)


def _head(desk: Desk, path: Path) -> Answer:
    return next(desk.read(Request(str(path), "head", _HEAD_BYTES)))


SPEC = Spec(
    name="run-folder", about=About.RUN, gather=gather, limit_s=15.0, limit_bytes=8 << 20, order=0
)
