"""A call back after an import, which leaves the module as it would have been."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from unhang.probe import imports


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "somebodys.py").write_text("VALUE = 5\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield "somebodys"
    sys.modules.pop("somebodys", None)


def test_it_comes_after_the_import(module: str) -> None:
    seen: list[int] = []
    imports.after(module, lambda: seen.append(sys.modules[module].VALUE))
    assert seen == []
    imported = importlib.import_module(module)
    assert seen == [5]
    assert imported.__loader__ is not None
    assert "exec_module" not in vars(imported.__loader__)


def test_it_comes_at_once_for_what_is_there(module: str) -> None:
    importlib.import_module(module)
    seen: list[int] = []
    imports.after(module, lambda: seen.append(1))
    assert seen == [1]


def test_its_failure_is_not_the_imports(module: str) -> None:
    def fail() -> None:
        raise RuntimeError

    imports.after(module, fail)
    assert importlib.import_module(module).VALUE == 5
