"""A place on this host for what the probes map and rewrite, where the run folder is on a network.

A board is memory: a server that hangs would hang whoever touches it, a training process with its
interpreter lock included. So boards, orders and stacks lie on a local disk, and are copied into the
run folder when somebody wants to read them there, and at the end.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

from unhang.live.run_folder.layout import RunFolder

_NETWORK = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cephfs", "cifs", "davfs", "fhgfs", "gfs2", "glusterfs"),
        *("gpfs", "lustre", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "smb2", "smb3"),
        *("smbfs", "wekafs"),
    }
)
_LAUNCH_ELSEWHERE = frozenset(
    {"deepspeed", "horovodrun", "mpiexec", "mpiexec.hydra", "mpirun", "orterun", "pdsh", "srun"}
)
"""Launchers whose processes may run on hosts that see the run folder only."""

_MOUNTS = Path("/proc/self/mountinfo")

_SEEN_BY_ALL = ("boards", "stacks", "dumps/watchdog")


_LEAST_FREE = 4 << 20
"""Bytes that boards, orders and stacks of a host need; on a full disk they would stay empty."""


def choose_near(root: Path, program: str) -> Path:
    """The folder that the probes of this host use; `root` itself wherever that will do.

    Raises:
        OSError: no folder can be made, or there is no room for one.
    """
    elsewhere = Path(program).name in _LAUNCH_ELSEWHERE
    if has_room(root) and (not on_network(root) or elsewhere):
        return root
    places = (Path(tempfile.gettempdir()), Path("/dev/shm"))  # noqa: S108 (a folder of our own)
    for place in places:
        if place.is_dir() and not on_network(place) and has_room(place):
            return Path(tempfile.mkdtemp(prefix=f"unhang-{root.name}-", dir=place))
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def has_room(place: Path) -> bool:
    """Whether a file of some size can be written there; quotas are found only so."""
    trial = place / f".room-{os.getpid()}"
    try:
        with trial.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, _LEAST_FREE)
    except OSError:
        return False
    finally:
        trial.unlink(missing_ok=True)
    return True


def on_network(path: Path) -> bool:
    """Whether a folder, or what of it exists, is on the file system of another host."""
    real = path.absolute()
    while not real.exists():
        real = real.parent
    kind, longest = "", -1
    for point, name in _mounts():
        if real.is_relative_to(point) and len(point) >= longest:
            kind, longest = name, len(point)
    return kind in _NETWORK or kind.startswith("fuse.")


def bring(near: RunFolder, root: RunFolder) -> None:
    """Copy into the run folder what its readers look for.

    Raises:
        OSError: something cannot be copied; the rest may have been.
    """
    if near.root == root.root:
        return
    for name in _SEEN_BY_ALL:
        if (near.root / name).is_dir():
            shutil.copytree(near.root / name, root.root / name, dirs_exist_ok=True)


def drop(near: Path, root: Path) -> None:
    """Remove the local folder."""
    if near != root:
        shutil.rmtree(near, ignore_errors=True)


def _mounts() -> list[tuple[str, str]]:
    """Mount points and kinds, as proc_pid_mountinfo(5) has them; empty where it cannot be read."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        place, _, source = line.partition(" - ")
        point = place.split()[4].encode().decode("unicode_escape")
        found.append((os.path.normpath(point), source.split()[0]))
    return found
