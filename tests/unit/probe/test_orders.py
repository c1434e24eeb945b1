"""Orders of the agent: what is new, what is old, what is half written."""

from __future__ import annotations

import json
from pathlib import Path

from unhang.probe.orders import OrderReader, Watched


def write(path: Path, content: object) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content), encoding="utf-8")
    part.replace(path)


def test_an_order_is_served_once(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    orders = OrderReader(str(path))
    assert orders.new_dump() is None
    write(path, {"seq": 1, "dump": {"id": 0, "dir": "/d/0"}})
    assert orders.new_dump() == (0, "/d/0")
    assert orders.new_dump() is None
    write(path, {"seq": 2, "dump": {"id": 1, "dir": "/d/1"}})
    assert orders.new_dump() == (1, "/d/1")


def test_an_order_for_the_process_before_is_not_served(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    write(path, {"seq": 1, "dump": {"id": 5, "dir": "/d/5"}})
    orders = OrderReader(str(path))
    assert orders.new_dump() is None


def test_timeouts_that_make_no_sense_are_not_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    orders = OrderReader(str(path))
    for wrong in (None, 7, {}, {"mode": "never"}, {"mode": ["judge"]}):
        write(path, {"seq": 1, "timeouts": wrong})
        assert orders.timeouts() is None
    write(path, {"seq": 2, "timeouts": {"mode": "judge", "limit_ms": -4}})
    assert orders.timeouts() == ("judge", None)
    write(path, {"seq": 3, "timeouts": {"mode": "fixed", "limit_ms": 5000}})
    assert orders.timeouts() == ("fixed", 5000)


def test_half_a_file_leaves_the_last_content(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    watched = Watched(str(path))
    assert watched.read() == {}
    write(path, {"beat": 1})
    assert watched.read() == {"beat": 1}
    path.write_text('{"beat": ', encoding="utf-8")
    assert watched.read() == {"beat": 1}
    write(path, {"beat": 3})
    assert watched.read() == {"beat": 3}
