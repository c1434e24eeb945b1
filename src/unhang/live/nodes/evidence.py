"""What a node gives to the one that judges: dumps, stacks, the end of its output.

Paths come from other hosts: only names that a run folder has are taken, and only so many bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from unhang import lazy_re as re
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.record import replace_bytes

_PATH = re.compile(
    r"(?:dumps/(?:\d{1,9}|watchdog)|stacks|output/[\w-][\w.-]{0,99})/[\w-][\w.-]{0,149}"
)

_TAIL_BYTES = 1 << 20
"""Of each file of output."""

MOST_FILE_BYTES = 64 << 20
MOST_BYTES = 2 << 30
"""Of one file, and of all that one run takes from others."""


def evidence_of(folder: RunFolder, host: str, number: int) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of what this host has about the moment of those dumps."""
    for path in sorted((*folder.dump(number).glob("*"), *folder.watchdog.glob("*"))):
        if path.is_file() and not path.name.endswith(".part"):
            yield from _whole(folder.root, path)
    for path in sorted(folder.stacks.glob(f"{host}-*.txt")):
        yield from _whole(folder.root, path)
    for path in sorted(folder.output(host).glob("*.log")):
        data = _tail(path)
        if data:
            yield str(path.relative_to(folder.root)), data


def is_of_another(name: str, node: str) -> bool:
    """Whether a path by its name belongs to another node: outputs and stacks carry a label."""
    kind, _, rest = name.partition("/")
    if kind == "output":
        return rest.partition("/")[0] != node
    return kind == "stacks" and not rest.startswith(f"{node}-")


def is_there(folder: RunFolder, name: str) -> bool:
    """Whether such a path exists in the run folder, whatever it is.

    Raises:
        ValueError: no run folder has such a path.
    """
    if _PATH.fullmatch(name) is None:
        raise ValueError(f"{name[:100]!r} is not a path of evidence")
    return os.path.lexists(folder.root / name)


def keep(folder: RunFolder, name: str, data: bytes) -> None:
    """Write what another node has given.

    Raises:
        ValueError: no run folder has such a path, or there is too much.
        OSError: it cannot be written.
    """
    if _PATH.fullmatch(name) is None:
        raise ValueError(f"{name[:100]!r} is not a path of evidence")
    if len(data) > MOST_FILE_BYTES:
        raise ValueError(f"{name} has {len(data)} bytes; at most {MOST_FILE_BYTES} are taken")
    path = folder.root / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_bytes(path, data)


def _whole(root: Path, path: Path) -> Iterator[tuple[str, bytes]]:
    if 0 < path.stat().st_size <= MOST_FILE_BYTES:
        yield str(path.relative_to(root)), path.read_bytes()


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        data = file.read(_TAIL_BYTES)
    return data if size <= _TAIL_BYTES else data[data.find(b"\n") + 1 :]
