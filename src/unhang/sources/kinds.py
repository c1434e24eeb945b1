"""What a file is, told from its first bytes: text, compressed, an archive, or nothing to read."""

from __future__ import annotations

import enum
from pathlib import PurePosixPath

from unhang.sources.debug_page import is_debug_page
from unhang.sources.notebook import is_notebook

SNIFF = 4096
"""Bytes that `kind_of` wants to see."""


class FileKind(enum.Enum):
    """What to do with a file."""

    TEXT = "text"
    UTF16 = "UTF-16 text"
    GZIP = "gzip"
    BZIP2 = "bzip2"
    XZ = "xz"
    ZSTD = "zstd"
    TAR = "tar"
    ZIP = "zip"
    PAGE = "page of torch's debug server"
    NOTEBOOK = "Jupyter notebook"
    BINARY = "binary"


COMPRESSED = {
    FileKind.GZIP: (".gz", ".tgz"),
    FileKind.BZIP2: (".bz2", ".tbz"),
    FileKind.XZ: (".xz", ".txz"),
    FileKind.ZSTD: (".zst", ".tzst"),
}
"""Kinds that hold one stream, and the endings that they add to its name."""

_MAGIC = (
    (b"\x1f\x8b", FileKind.GZIP),
    (b"BZh", FileKind.BZIP2),
    (b"\xfd7zXZ\x00", FileKind.XZ),
    (b"\x28\xb5\x2f\xfd", FileKind.ZSTD),
    (b"PK\x03\x04", FileKind.ZIP),
    (b"PK\x05\x06", FileKind.ZIP),
    (b"\xff\xfe", FileKind.UTF16),
    (b"\xfe\xff", FileKind.UTF16),
    (b"\x7fELF", FileKind.BINARY),
    (b"%PDF-", FileKind.BINARY),
    (b"PAR1", FileKind.BINARY),
    (b"ARROW1", FileKind.BINARY),
    (b"GIF8", FileKind.BINARY),
    (b"SQLite format 3", FileKind.BINARY),
)
_ZIPPED_DATA = frozenset(
    {".pt", ".pth", ".npz", ".whl", ".jar", ".xlsx", ".docx", ".pptx", ".keras"}
)
_DATA = _ZIPPED_DATA | {
    *(".bin", ".safetensors", ".ckpt", ".distcp", ".npy", ".so", ".o", ".a", ".pyc", ".png"),
    *(".jpg", ".jpeg", ".gif", ".webp", ".mp4", ".wav", ".pdf", ".parquet", ".arrow", ".h5"),
    *(".hdf5", ".onnx", ".engine", ".model", ".idx", ".tfrecord", ".exe", ".dll", ".ttf", ".woff"),
    *(".svg", ".ico", ".db", ".sqlite", ".mmap", ".gguf", ".faiss"),
}
_SOURCE = frozenset(
    {
        *(".py", ".pyi", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".ipynb", ".md", ".rst"),
        *(".html", ".css", ".js", ".ts", ".java", ".go", ".rs", ".tex", ".proto"),
    }
)


def is_data(name: str) -> bool:
    """Whether the name alone says that the file is no text: a checkpoint, an image, a library."""
    path = PurePosixPath(name)
    return path.suffix.lower() in _DATA or "tfevents" in path.name or ".so." in path.name


def is_source(name: str) -> bool:
    """Whether the name says that the file is program text: it quotes messages, it logs none."""
    return PurePosixPath(name).suffix.lower() in _SOURCE


def kind_of(head: bytes, name: str = "") -> FileKind:
    """What the file is that begins with `head`.

    >>> kind_of(b"step 1 loss 2.5")
    <FileKind.TEXT: 'text'>
    """
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            zipped_data = (
                kind is FileKind.ZIP and PurePosixPath(name).suffix.lower() in _ZIPPED_DATA
            )
            return FileKind.BINARY if zipped_data else kind
    if utf16_without_mark(head) is not None:
        return FileKind.UTF16
    if is_debug_page(head):
        return FileKind.PAGE
    if is_notebook(head, name):
        return FileKind.NOTEBOOK
    if head[257:262] == b"ustar":
        return FileKind.TAR
    return FileKind.BINARY if _is_binary(head) else FileKind.TEXT


def utf16_without_mark(head: bytes) -> str | None:
    """The codec of UTF-16 whose byte order mark is missing: every other byte of ASCII is NUL.

    >>> utf16_without_mark("step 1 loss 2.5".encode("utf-16-le"))
    'utf-16-le'
    """
    first, second = head[:512:2], head[1:512:2]
    if len(head) < 16 or not 2 * max(first.count(0), second.count(0)) > len(second):
        return None
    if 0 not in first:
        return "utf-16-le"
    return None if 0 in second else "utf-16-be"


def _is_binary(head: bytes) -> bool:
    """Text may hold NULs: holes, where a log was truncated under its writer."""
    told = head.replace(b"\0", b"")
    if told[:1] == b"\x80" and told[1:2] in b"\x02\x03\x04\x05":  # a pickle
        return True
    odd = sum(told.count(byte) for byte in _ODD)
    undecodable = told.decode("utf-8", errors="replace").count("\ufffd")
    return odd > len(told) * 0.05 or undecodable > len(told) * 0.1 + 1


_ODD = tuple(bytes([code]) for code in range(1, 32) if code not in {7, 8, 9, 10, 12, 13, 27})
