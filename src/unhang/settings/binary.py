"""From an installed libnccl to the names that it reads: the judge of last resort.

NCCL glues the full name of every variable together at compile time, so each name that a build reads
stands in its read-only data, followed by a NUL byte. A plain substring search would also find
prefixes of longer names, and the whole file holds debug information with names of other things:
only the section `.rodata` counts. Nothing is loaded, and no GPU is needed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from unhang import lazy_re as re

_VERSION = re.compile(rb"NCCL version (\d+\.\d+\.\d+)\+cuda")
_NAME = re.compile(rb"(?<![A-Z0-9_])NCCL_[A-Z0-9_]+(?=\0)")
_DOUBLED = b"NCCL_"
"""Two releases read one name with the prefix doubled: its tail is no name of theirs."""

_SYSTEM = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/local/lib",
)

_LARGEST_BYTES = 2 << 30
_ELF_64_LITTLE = b"\x7fELF\x02\x01"


class NotElf(ValueError):
    """The file is no 64-bit little-endian ELF file, or has no such section."""


class NcclBinary:
    """The read-only data of one libnccl."""

    def __init__(self, rodata: bytes) -> None:
        self._rodata = rodata

    @property
    def version(self) -> str | None:
        """Its release, as it prints it itself."""
        found = _VERSION.search(self._rodata)
        return None if found is None else found.group(1).decode()

    def reads(self, name: str) -> bool:
        """Whether this build reads a variable of that name."""
        needle = name.encode() + b"\0"
        at = self._rodata.find(needle)
        while at >= 0:
            if self._rodata[max(0, at - len(_DOUBLED)) : at] != _DOUBLED:
                return True
            at = self._rodata.find(needle, at + 1)
        return False

    def names(self) -> frozenset[str]:
        """Everything in it that looks like a name of a variable; words of messages among them."""
        return frozenset(match.group().decode() for match in _NAME.finditer(self._rodata))


def find_nccl() -> Path | None:
    """The libnccl that a job started here would load, or None.

    The one that pip installed beside PyTorch comes first, as it does for PyTorch itself; then those
    of `LD_LIBRARY_PATH`, of conda, and of the system.
    """
    for pattern, folder in _places():
        found = sorted(folder.glob(pattern))
        if found:
            return found[0]
    return None


def _places() -> Iterator[tuple[str, Path]]:
    try:
        spec = find_spec("nvidia")
    except (ImportError, ValueError):
        spec = None
    for location in [] if spec is None else spec.submodule_search_locations or []:
        yield "nccl/lib/libnccl.so*", Path(location)
    folders = [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(":") if f]
    if conda := os.environ.get("CONDA_PREFIX"):
        folders.append(f"{conda}/lib")
    for folder in (*folders, *_SYSTEM):
        yield "libnccl.so*", Path(folder)


def read_nccl(path: Path) -> NcclBinary:
    """Read one library.

    Raises:
        OSError: it cannot be read.
        NotElf: it is no shared library.
    """
    with path.open("rb") as file:
        head = file.read(64)
        if head[:6] != _ELF_64_LITTLE or len(head) < 64:
            raise NotElf("no 64-bit little-endian ELF file")
        (table,) = struct.unpack_from("<Q", head, 40)
        size, count, names_index = struct.unpack_from("<HHH", head, 58)

        def read(offset: int, length: int) -> bytes:
            if length > _LARGEST_BYTES:
                raise NotElf("a section of absurd size")
            file.seek(offset)
            return file.read(length)

        raw = read(table, size * count)
        try:
            rows = [struct.unpack_from("<IIQQQQ", raw, i * size) for i in range(count)]
            names = read(*rows[names_index][4:6])
        except (struct.error, IndexError) as error:
            raise NotElf("a damaged table of sections") from error
        for name, _, _, _, offset, length in rows:
            if names[name:].split(b"\0", 1)[0] == b".rodata":
                return NcclBinary(read(offset, length))
    raise NotElf("no section .rodata")
