"""What a drill may have left behind on this machine."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

from unhang.lab.faults.declared import FOLDER_VARIABLE
from unhang.lab.job import marks

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, not written
_CONTROL_GROUPS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))
_LOOK_EACH_S = 0.2
_NUMBER = re.compile(r"\d+")


class LeftBehind:
    """Looks, while drills run, at what is theirs; `names` says what of it is still there.

    Only what belongs to a drill counts: it is in its folder, or a process that carries the
    folder's mark had it open or mapped, or its name holds such a process's number. Other programs
    of the machine make and leave files of shared memory at any time.
    """

    def __init__(self, folder: Path) -> None:
        """Args: folder: the drill's folder, or one that holds the folders of several."""
        self._folder = folder.resolve()
        self._makers = {os.getpid()}
        self._files: set[str] = set()
        self._namespaces = frozenset(namespaces())
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> LeftBehind:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Look for the last time."""
        self._done.set()
        self._thread.join()

    def names(self) -> list[str]:
        """Processes, namespaces, mounts, control groups and shared memory that live on."""
        found = {
            "process": map(str, self._processes()),
            "namespace": (n for n in namespaces() if n not in self._namespaces and self._made(n)),
            "mount": (n for n in _mounts() if self._is_inside(n)),
            "control group": (n for n in control_groups() if self._made(n)),
            "shared memory": (n for n in _shared_memory() if n in self._files or self._made(n)),
        }
        return [f"{kind} {name}" for kind, names in found.items() for name in sorted(names)]

    def _watch(self) -> None:
        while True:
            last = self._done.wait(_LOOK_EACH_S)
            for pid in self._processes():
                self._makers.add(pid)
                self._files.update(_used_files(pid))
            if last:
                return

    def _made(self, name: str) -> bool:
        """Whether a name holds the number of one of the drill's processes, or of this one."""
        return any(int(number) in self._makers for number in _NUMBER.findall(name))

    def _is_inside(self, path: str) -> bool:
        return Path(path).is_relative_to(self._folder)

    def _processes(self) -> Iterator[int]:
        """Those whose environment names the folder, or one in it."""
        return (pid for pid, folder in marks(FOLDER_VARIABLE) if self._is_inside(folder))


def namespaces() -> list[str]:
    """Network namespaces of drills: `unhang-<pid of the maker>-<node>`."""
    return [line.split()[0] for line in _output("ip", "netns", "list") if "unhang" in line]


def control_groups() -> Iterable[str]:
    """The folders of the control groups that faults made: `…/unhang-drill-<pid>`."""
    return [str(path) for root in _CONTROL_GROUPS for path in root.glob("unhang-drill-*")]


def _mounts() -> Iterable[str]:
    with contextlib.suppress(OSError):
        lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
        return [line.split()[1] for line in lines if line.startswith("unhang-drill")]
    return []


def _shared_memory() -> Iterable[str]:
    return [path.name for path in _SHARED_MEMORY.iterdir()] if _SHARED_MEMORY.is_dir() else []


def _used_files(pid: int) -> Iterator[str]:
    """The files of shared memory that a process has open or mapped."""
    process, inside = Path("/proc", str(pid)), f"{_SHARED_MEMORY}/"
    with contextlib.suppress(OSError):
        used = [str(entry.readlink()) for entry in (process / "fd").iterdir()]
        maps = (process / "maps").read_text(encoding="utf-8", errors="replace")
        used += [line.split()[-1] for line in maps.splitlines() if inside in line]
        yield from (name.removeprefix(inside) for name in used if name.startswith(inside))


def _output(*command: str) -> list[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return []
    return done.stdout.splitlines()
