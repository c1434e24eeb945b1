"""Turns inputs of labelled jobs into hostile ones: bytes, lines, numbers, dumps, archives, JSON."""

from __future__ import annotations

import gzip
import io
import random
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

_NUMBER = re.compile(rb"\d+")
_ODD_NUMBERS = (
    *(b"0", b"-1", b"1e400", b"nan", b"9" * 19, b"9" * 400, b"9" * 5_000, b"20000000"),
    *(b"999999999", b"0x7fffffffffffffff", b"-9223372036854775808", b"\xd9\xa3"),
)
_ODD_BYTES = (
    b"\0",
    b"\xff\xfe",
    b"\x1b]0;x\x07",
    b"\r",
    "\u202e".encode(),
    b"\xed\xa0\x80",
    b"[" * 200,
)
_WORDS = (
    *(b"rank", b"nranks", b"SeqNum=", b"WORLD_SIZE=", b"Traceback (most recent call last):\n"),
    *(b"NCCL WARN ", b"Xid ", b"{", b"}", b"```\n", b"> ", b"torch.OutOfMemoryError: "),
)


_MOST_BYTES = 4 << 20
"""What numbers may grow to: more shows nothing but how fast we read."""


def mutate(data: bytes, name: str, source: random.Random) -> tuple[bytes, str]:
    """A hostile relative of a file, and the name that it gets."""
    for _ in range(source.choice((1, 1, 2, 4, 8))):
        data = source.choice(_CHANGES)(data, source)
    if source.random() < 0.15:
        return source.choice(_WRAPPERS)(data, name, source)
    return data, name


def _bytes(data: bytes, source: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(source.choice((1, 8, 64))):
        if changed:
            changed[source.randrange(len(changed))] = source.randrange(256)
    return bytes(changed)


def _odd(data: bytes, source: random.Random) -> bytes:
    place = source.randrange(len(data) + 1)
    return data[:place] + source.choice((*_ODD_BYTES, *_WORDS)) + data[place:]


def _numbers(data: bytes, source: random.Random) -> bytes:
    share, odd = source.choice((0.01, 0.1, 1.0)), source.choice(_ODD_NUMBERS)
    share = min(share, _MOST_BYTES / (len(data) * len(odd) / 4 + 1))
    return _NUMBER.sub(lambda m: odd if source.random() < share else m[0], data)


def _lines(data: bytes, source: random.Random) -> bytes:
    lines = data.split(b"\n")
    change = source.randrange(5)
    if change == 0:
        source.shuffle(lines)
    elif change == 1:
        del lines[:: source.choice((2, 3, 7))]
    elif change == 2:
        lines = [line for line in lines for _ in range(source.choice((1, 1, 30)))][:20_000]
    elif change == 3:
        lines = [line[: source.randrange(len(line) + 1)] for line in lines]
    else:
        lines = [b" ".join(lines)]
    return b"\n".join(lines)


def _cut(data: bytes, source: random.Random) -> bytes:
    begin = source.randrange(len(data) + 1)
    return data[begin:] if source.random() < 0.5 else data[:begin]


def _repeat(data: bytes, source: random.Random) -> bytes:
    return (data * source.choice((2, 10)))[: 2 << 20]


def _deep(data: bytes, source: random.Random) -> bytes:
    opened = source.choice((b"[", b'{"a":', b"(", b"(lp0\n", b"\x80\x02]"))
    return opened * source.choice((10, 2_000, 100_000)) + data


def _encoding(data: bytes, source: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(source.choice(("utf-16", "utf-16-be", "utf-32", "cp037")), "replace")


_CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_bytes, _odd, _odd, _numbers, _numbers, _numbers, _lines, _lines, _cut, _repeat, _deep),
    _encoding,
)


def _gzip(data: bytes, name: str, source: random.Random) -> tuple[bytes, str]:
    return _spoiled(gzip.compress(data, 1), source), f"{name}.gz"


def _zip(data: bytes, name: str, source: random.Random) -> tuple[bytes, str]:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(source.choice((name, "../../x.log", "/etc/x", "a" * 300)), data)
    return _spoiled(file.getvalue(), source), f"{name}.zip"


def _tar(data: bytes, name: str, source: random.Random) -> tuple[bytes, str]:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        told = tarfile.TarInfo(source.choice((name, "../y.log", "host=x/rank_1.log")))
        told.size = len(data)
        archive.addfile(told, io.BytesIO(data))
    return _spoiled(file.getvalue(), source), f"{name}.tar.gz"


_WRAPPERS: tuple[Callable[[bytes, str, random.Random], tuple[bytes, str]], ...] = (
    *(_gzip, _zip, _tar),
)


def _spoiled(data: bytes, source: random.Random) -> bytes:
    return _bytes(data, source) if source.random() < 0.5 else data


def seeds(*roots: Path, most_bytes: int = 256 << 10) -> list[Path]:
    """Files to begin with."""
    return [
        path
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file() and 0 < path.stat().st_size <= most_bytes
    ]
