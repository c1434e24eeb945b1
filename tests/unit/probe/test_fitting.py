"""A beat that is too large for the board loses what can best be missed, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unhang.live.messages.wire import beat_from_json
from unhang.probe.board import Board, read
from unhang.probe.fitting import smaller


def beat(groups: int, ranks: int) -> dict[str, Any]:
    group = {"desc": "d" * 30, "ranks": list(range(ranks)), "backend": "nccl", "timeout_ms": 1}
    return {
        "host": "h",
        "pid": 7,
        "stack": [["f" * 100, 1, "g"]] * 40,
        "groups": {str(n): {**group, "enqueued": n, "since": float(n)} for n in range(groups)},
        "lost": [],
    }


def pinned(tmp_path: Path, whole: dict[str, Any]) -> dict[str, Any]:
    board = Board(str(tmp_path / "a.board"))
    assert any(board.pin(form, 1.0) for form in smaller(whole))
    board.close()
    seen = read(str(tmp_path / "a.board"))
    assert seen is not None
    return seen.beat


def test_a_small_beat_stays_whole(tmp_path: Path) -> None:
    assert pinned(tmp_path, beat(3, 8)) == beat(3, 8)


def test_members_of_large_groups_go_first(tmp_path: Path) -> None:
    seen = pinned(
        tmp_path, {**beat(20, 4096), "groups": {**beat(20, 4096)["groups"], **beat(1, 4)["groups"]}}
    )
    assert seen["groups"]["0"]["ranks"] == [0, 1, 2, 3]
    assert seen["groups"]["5"]["ranks"] is None
    assert len(seen["stack"]) == 40
    assert ["full_members", ""] in seen["lost"]


def test_of_very_many_groups_the_moving_ones_stay(tmp_path: Path) -> None:
    seen = pinned(tmp_path, beat(2000, 2))
    assert "1999" in seen["groups"]
    assert "0" not in seen["groups"]
    assert beat_from_json(seen) is not None
    assert ["full_groups", ""] in seen["lost"]
