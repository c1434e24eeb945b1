"""Which file system a path lies on, by `/proc/self/mountinfo`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from unhang.checking.host import Host

REMOTE = re.compile(
    r"nfs4?|cifs|smb\w*|lustre|ceph|fuse(?:\.(?!lxcfs)\S+|blk)?|gpfs|beegfs\w*|9p|afs|wekafs|glusterfs"
)
"""Kinds that live elsewhere, or behind a process that may need memory itself (FUSE)."""
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount: its place, and the kind of its file system."""

    place: str
    kind: str
    source: str
    read_only: bool


def mounts(host: Host) -> list[Mount]:
    """All mounts, in order; of two in one place the later one hides the earlier."""
    found = []
    for line in (host.find("/proc/self/mountinfo") or "").splitlines():
        before, sign, after = line.partition(" - ")
        fields, rest = before.split(), after.split()
        if sign and len(fields) >= 6 and len(rest) >= 2:
            read_only = "ro" in fields[5].split(",")
            found.append(Mount(plain(fields[4]), rest[0], plain(rest[1]), read_only))
    return found


def mount_of(host: Host, path: str) -> Mount | None:
    """The mount that a path lies on; None where the table cannot be read."""
    parts = PurePosixPath(path).parts
    best: Mount | None = None
    for mount in mounts(host):
        own = PurePosixPath(mount.place).parts
        nearer = best is None or len(own) >= len(PurePosixPath(best.place).parts)
        if parts[: len(own)] == own and nearer:
            best = mount
    return best


def plain(text: str) -> str:
    r"""A path as the kernel writes it into its tables, without escapes.

    >>> plain(r"/local\040disk")
    '/local disk'
    """
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
