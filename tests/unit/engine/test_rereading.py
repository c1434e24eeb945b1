"""What stands around the end of a line is the same from either end of an artifact."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from unhang.engine import rereading
from unhang.engine.rereading import Around, around
from unhang.sources.artifact import Artifact
from unhang.sources.buffer import Length
from unhang.sources.discover import OpenFile
from unhang.sources.select import select

TEXTS = [
    b"",
    b"one",
    b"one\n",
    b"\n\n\n",
    b"one\ntwo\rthree\n\nfive",
    b"".join(b"%d %s\n" % (n, b"x" * (n % 37)) for n in range(300)),
]


def of(data: bytes) -> Artifact:
    return Artifact(name="log", open=lambda: io.BytesIO(data), again=True)


def length(artifact: Artifact) -> Length:
    told: list[Length] = []
    list(select(artifact, (), ended=told.append))
    return told[0]


@pytest.mark.parametrize("data", TEXTS)
@pytest.mark.parametrize("piece", [1, 7, 64 << 10])
@pytest.mark.parametrize("before", [1, 50, 1 << 20])
def test_from_behind_as_from_the_beginning(
    data: bytes, piece: int, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rereading, "_PIECE", piece)
    monkeypatch.setattr(rereading, "BEFORE", before)
    artifact = of(data)
    long = length(artifact)
    assert long == (len(data), data.count(b"\n"))
    for line in range(long.newlines + 3):
        assert around(artifact, line, long) == around(artifact, line, None)


def test_what_is_around() -> None:
    artifact = of(b"one\ntwo\nthree")
    assert around(artifact, 1, length(artifact)) == Around(b"one\n", b"two\nthree")
    assert around(artifact, 3, length(artifact)) is None


def test_colours_count_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\x1b[31mone\x1b[0m\ntwo\nthree\n")
    artifact = Artifact(name="log", open=OpenFile(str(path)), again=True)
    assert around(artifact, 2, length(artifact)) == (path.read_bytes()[:-6], b"three\n")


def test_the_end_of_a_large_log_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = of(TEXTS[-1])
    monkeypatch.setattr(rereading, "LARGEST", 200)
    monkeypatch.setattr(rereading, "_PIECE", 50)
    part = around(artifact, 298, length(artifact))
    assert part is not None
    assert part.after == b"".join(TEXTS[-1].splitlines(keepends=True)[298:])
    assert around(artifact, 150, length(artifact)) is None  # too far from either end
    assert around(artifact, 3, length(artifact)) == around(artifact, 3, None)


def test_only_a_part_is_read_of_a_log_that_ends_with_its_trouble() -> None:
    data = b"x" * 99 + b"\n"
    read: list[int] = []

    class Counted(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            piece = super().read(size)
            read.append(len(piece))
            return piece

    artifact = Artifact(name="log", open=lambda: Counted(data * 100_000), again=True)
    part = around(artifact, 99_999, Length(10_000_000, 100_000))
    assert part is not None
    assert part.after == data
    assert sum(read) < 2 * rereading.BEFORE


def test_what_cannot_be_sought_is_read_from_the_beginning() -> None:
    artifact = of(b"one\ntwo\nthree\n")

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: object) -> int:
            raise io.UnsupportedOperation

    unseekable = Artifact(name="log", open=lambda: Pipe(b"one\ntwo\nthree\n"), again=True)
    assert around(unseekable, 2, length(artifact)) == around(artifact, 2, length(artifact))


@pytest.mark.parametrize("stride", [1, 3, 1 << 20])
def test_lines_are_cut_and_all_there(stride: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rereading, "_STRIDE", stride)
    stream = io.BytesIO(b"one\nlonger\n\nend")
    assert list(rereading.lines_of(stream, 4)) == [b"one", b"long", b"", b"end"]


def test_no_more_is_kept_than_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rereading, "AFTER", 9)
    for known in (None, length(of(TEXTS[-1]))):
        part = around(of(TEXTS[-1]), 3, known)
        assert part is not None
        assert part.after == b"".join(TEXTS[-1].splitlines(keepends=True)[3:])[:9]
