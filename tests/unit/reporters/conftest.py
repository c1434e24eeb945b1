"""Snapshots: texts under `tests/snapshots`, rewritten with `UNHANG_UPDATE_SNAPSHOTS=1`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Snapshot: TypeAlias = Callable[[str, str], None]

FOLDER = Path(__file__).parents[2] / "snapshots"


@pytest.fixture
def snapshot() -> Snapshot:
    """Compare a text with the file of a name."""

    def compare(name: str, text: str) -> None:
        path = FOLDER / name
        if os.environ.get("UNHANG_UPDATE_SNAPSHOTS"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; update it if meant"

    return compare
