"""Names are found in the read-only data of a library, whole and with their NUL."""

import struct
from pathlib import Path

import pytest

from unhang.settings.binary import NotElf, find_nccl, read_nccl

RODATA = (
    b"x\0NCCL_DEBUG\0NCCL_GRAPH_FILE\0XNCCL_NET_PLUGIN\0NCCL_NCCL_ALLOC_BUFFERS\0"
    b"NCCL version 2.27.3+cuda12.9\0"
)


def library(folder: Path, rodata: bytes, section: bytes = b".rodata") -> Path:
    """A minimal 64-bit ELF file: its header, the data, the names of sections, their table."""
    names = b"\0.shstrtab\0" + section + b"\0"
    data_at, names_at = 64, 64 + len(rodata)
    table_at = names_at + len(names)

    def entry(name: int, at: int, size: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, at, size, 0, 0, 0, 0)

    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", header, 40, table_at)
    struct.pack_into("<HHH", header, 58, 64, 3, 1)
    table = entry(0, 0, 0) + entry(1, names_at, len(names)) + entry(11, data_at, len(rodata))
    path = folder / "libnccl.so.2"
    path.write_bytes(bytes(header) + rodata + names + table)
    return path


def test_whole_names_only(tmp_path: Path) -> None:
    binary = read_nccl(library(tmp_path, RODATA))
    assert binary.version == "2.27.3"
    assert binary.reads("NCCL_DEBUG")
    assert binary.reads("NCCL_NET_PLUGIN")
    assert not binary.reads("NCCL_GRAPH")
    assert not binary.reads("NCCL_TIMEOUT")


def test_a_doubled_prefix_is_not_the_name(tmp_path: Path) -> None:
    binary = read_nccl(library(tmp_path, RODATA))
    assert not binary.reads("NCCL_ALLOC_BUFFERS")
    assert "NCCL_DEBUG" in binary.names()


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01" + b"\xff" * 100])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "no.so"
    path.write_bytes(content)
    with pytest.raises(NotElf):
        read_nccl(path)


def test_a_library_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotElf, match="rodata"):
        read_nccl(library(tmp_path, RODATA, b".textual"))


def test_the_library_of_this_machine_is_found_where_the_loader_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unhang.settings.binary.find_spec", lambda _: None)
    monkeypatch.setattr("unhang.settings.binary._SYSTEM", ())
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere::{tmp_path}")
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    assert find_nccl() is None
    own = tmp_path / "conda" / "lib" / "libnccl.so.2"
    own.parent.mkdir(parents=True)
    own.touch()
    assert find_nccl() == own
    (tmp_path / "libnccl.so.2").touch()
    assert find_nccl() == tmp_path / "libnccl.so.2"
