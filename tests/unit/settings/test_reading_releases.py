"""A release that cannot be had costs its own row, and leaves what was known of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import advice.__main__ as advice
import knobs.__main__ as knobs
from knobs.readers import read
from knobs.releases import MissingRelease
from unhang.settings import frameworks

ROW: dict[str, Any] = {
    "name": "x",
    "packages": {"x": ["2.0", "1.0"]},
    "read": [{"as": "classes", "files": ["x.py"]}],
    "knobs": [{"key": "a", "releases": {"2.0": [1, "x.py:9"], "1.0": [5, "x.py:2"]}}],
    "accepts": [],
}


def only_new(cache: Path, package: str, release: str) -> Path:
    if release == "1.0":
        raise MissingRelease(f"pip has no {package} {release}")
    return cache


def test_what_was_read_of_a_missing_release_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knobs, "unpacked", only_new)
    (tmp_path / "x.py").write_text("class C:\n    a: Annotated[int, 'help'] = 3\n")
    row = json.loads(json.dumps(ROW))
    assert knobs._fill(row, tmp_path) == []
    assert row["knobs"][0]["releases"] == {"2.0": [3, "x.py:2"], "1.0": [5, "x.py:2"]}
    assert row["knobs"][0]["type"] == "int"


def test_a_class_of_another_package_is_read_there(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text("class Base:\n    b: int = 2\n")
    sources: list[Mapping[str, Any]] = [
        {"as": "classes", "files": ["*.py"]},
        {"as": "classes", "package": "base", "files": ["base.py"], "prefix": "train."},
    ]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert set(knobs._settings("x", {"x": empty}, sources)) == set()
    assert set(knobs._settings("x", {"x": empty, "base": tmp_path}, sources)) == {"train.b"}
    assert [found.key for found in read(tmp_path, sources[0])] == ["b"]


def test_a_release_that_cannot_be_had_costs_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(cache: Path, package: str, release: str) -> Path:
        raise MissingRelease(f"pip has no {package} {release}")

    monkeypatch.setattr(advice, "unpacked", none)
    megatron = frameworks()["megatron"]
    row, wrong = advice._check(megatron, megatron.releases[-1], tmp_path, ask=False)
    assert wrong == []
    assert (row["own"], row["missing"]) == (0, [f"pip has no megatron-lm {megatron.releases[-1]}"])
    assert row["patches"] > 0
