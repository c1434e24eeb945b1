"""A board shows the last whole beat to readers that never wait."""

from __future__ import annotations

from pathlib import Path

from unhang.probe.board import ROOM, SIZE, Board, Pinned, read


def test_the_last_beat_is_shown(tmp_path: Path) -> None:
    path = str(tmp_path / "a.board")
    board = Board(path)
    board.pin({"rank": 1}, 5.0)
    board.pin({"rank": 1, "steps": 2}, 6.0)
    board.close()
    assert read(path) == Pinned(2, 6.0, {"rank": 1, "steps": 2})
    assert Path(path).stat().st_size == SIZE


def test_a_beat_that_is_too_large_leaves_the_last_one(tmp_path: Path) -> None:
    path = str(tmp_path / "a.board")
    board = Board(path)
    assert board.pin({"rank": 1}, 5.0)
    assert not board.pin({"text": "x" * ROOM}, 6.0)
    board.close()
    assert read(path) == Pinned(1, 5.0, {"rank": 1})


def test_the_last_call_is_shown_beside_the_last_beat(tmp_path: Path) -> None:
    path = str(tmp_path / "a.board")
    board = Board(path)
    assert board.pin({"text": "x" * (ROOM - 11)}, 5.0)
    board.note_call(7, b"all_reduce of 3 float32 in step (train.py):4")
    board.note_call(8, "é".encode() * 200)
    board.close()
    found = read(path)
    assert found is not None
    assert found.beat == {"text": "x" * (ROOM - 11)}
    assert found.last_call == (8, "é" * 124)


def test_what_is_no_board_reads_as_nothing(tmp_path: Path) -> None:
    for content in (b"", b"UNHB", b"x" * SIZE):
        path = tmp_path / "a.board"
        path.write_bytes(content)
        assert read(str(path)) is None


def test_a_beat_that_is_being_written_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.board"
    board = Board(str(path))
    board.pin({"rank": 1}, 5.0)
    board.close()
    data = bytearray(path.read_bytes())
    data[8] += 1
    path.write_bytes(data)
    assert read(str(path)) is None
