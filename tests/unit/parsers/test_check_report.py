"""The report of `unhang check`, as a file and among the lines of a log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unhang.parsers.check_report import read_check


def fault(number: int) -> dict[str, object]:
    return {"host": f"n{number}", "id": "link_lossy", "status": "fail", "message": "packets lost"}


def report(count: int, **more: object) -> dict[str, object]:
    told = {"schema": "unhang.check/1", "hosts": [], "stages": [], "at": "2026-11-21"}
    return {**told, "suspects": [fault(number) for number in range(count)], **more}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_report_is_read_however_it_is_laid_out(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "check.json"
    path.write_text(json.dumps(report(2), indent=indent) + "\n")
    found = read_check(path)
    assert [event.hosts for event in found] == [("n0",), ("n1",)]


def test_a_report_of_a_broken_cluster_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "check.json"
    path.write_text(json.dumps(report(300)))
    assert len(read_check(path)) == 200


@pytest.mark.parametrize("text", ["", "step 1", "{", json.dumps(report(1, schema="other/1"))])
def test_what_is_no_report_says_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "check.json"
    path.write_text(text)
    assert read_check(path) == []
