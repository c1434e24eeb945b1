"""What a drill may have left behind on this machine."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from unhang.lab.faults.declared import FOLDER_VARIABLE
from unhang.lab.job import marked_processes

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, not written
_CONTROL_GROUPS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))
_LISTENING = "0A"
_SECOND_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What exists at one moment.

    Attributes:
        found: kinds of things (`port`, `namespace`, …) with the names of each.
    """

    found: frozenset[tuple[str, str]] = field(default_factory=frozenset)


def look_around() -> Surroundings:
    """Namespaces, mounts, control groups, files of shared memory and ports that exist now."""
    return Surroundings(
        frozenset(
            (kind, name)
            for kind, names in (
                ("namespace", _namespaces()),
                ("mount", _mounts()),
                ("control group", control_groups()),
                ("shared memory", _shared_memory()),
                ("port", _ports()),
            )
            for name in names
        )
    )


def left_behind(folder: Path, before: Surroundings) -> list[str]:
    """What there is more than before, and processes of the drill; nothing of other programs.

    A port or a file of shared memory that a living process of somebody else uses is theirs, and
    what is gone at a second look is somebody's who was just at it.
    """
    found = _more(before)
    if found:
        time.sleep(_SECOND_LOOK_S)
        found &= _more(before)
    root = str(folder.resolve())
    processes = [f"process {pid}" for pid in marked_processes(FOLDER_VARIABLE, root)]
    return [*processes, *sorted(f"{kind} {name}" for kind, name in found)]


def _more(before: Surroundings) -> frozenset[tuple[str, str]]:
    more = look_around().found - before.found
    used = _used_files()
    return frozenset(
        (kind, name)
        for kind, name in more
        if not (kind == "shared memory" and f"{_SHARED_MEMORY / name}" in used)
        and not (kind == "port" and f"socket:[{name.partition(' ')[2]}]" in used)
        and not (kind == "namespace" and _is_in_use(name))
    )


def _is_in_use(namespace: str) -> bool:
    """Whether another drill, which runs beside this one, has made it: its name holds the number."""
    maker = namespace.removeprefix("unhang-").partition("-")[0]
    return maker.isdecimal() and int(maker) != os.getpid() and Path("/proc", maker).exists()


def _namespaces() -> Iterable[str]:
    return [line.split()[0] for line in _output("ip", "netns", "list") if "unhang" in line]


def _mounts() -> Iterable[str]:
    with contextlib.suppress(OSError):
        lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
        return [line.split()[1] for line in lines if line.startswith("unhang-drill")]
    return []


def control_groups() -> Iterable[str]:
    """The folders of the control groups that faults made: `…/unhang-drill-<pid>`."""
    return [str(path) for root in _CONTROL_GROUPS for path in root.glob("unhang-drill-*")]


def _shared_memory() -> Iterable[str]:
    return [path.name for path in _SHARED_MEMORY.iterdir()] if _SHARED_MEMORY.is_dir() else []


def _ports() -> Iterator[str]:
    """Ports that somebody listens at, each with the inode of its socket."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text(encoding="utf-8").splitlines()[1:]:
                words = line.split()
                if words[3] == _LISTENING:
                    yield f"{int(words[1].rpartition(':')[2], 16)} {words[9]}"


def _used_files() -> frozenset[str]:
    """What living processes have open or mapped."""
    used: set[str] = set()
    mapped = f"{_SHARED_MEMORY}/"
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            used.update(str(entry.readlink()) for entry in (process / "fd").iterdir())
            maps = (process / "maps").read_text(encoding="utf-8", errors="replace")
            used.update(line.split()[-1] for line in maps.splitlines() if mapped in line)
    return frozenset(used)


def _output(*command: str) -> list[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return []
    return done.stdout.splitlines()
