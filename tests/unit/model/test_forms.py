"""Patterns that stand as data."""

from __future__ import annotations

import enum
from pathlib import Path

import pytest

from unhang.model import forms, toml


class _Says(enum.Enum):
    STOPPED = "stopped"
    WAITS = "waits"


_ROWS = r"""
blank = '\s*'
rows = [
    { says = "stopped", text = 'rank {rank} stopped' },
    { says = "waits", text = ['rank {rank}', ' waits for \d{1,3}'], ignore_case = true },
]
[parts]
rank = '(?P<rank>\d{1,6})'
"""


@pytest.fixture
def _written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.toml").write_text(_ROWS, encoding="utf-8")
    monkeypatch.setattr(toml, "files", lambda package: tmp_path / package)


@pytest.mark.usefixtures("_written")
def test_a_row_is_one_pattern_with_its_blanks_parts_and_pieces() -> None:
    (stopped, first), (waits, second) = forms.patterns_of(_Says, "", "rows.toml")
    assert (stopped, waits) == (_Says.STOPPED, _Says.WAITS)
    found = first.search("Rank 1: rank 12stopped")  # wrapped just there by a terminal
    assert found is not None
    assert found["rank"] == "12"
    assert first.search("RANK 12 stopped") is None
    assert second.search("RANK 3 waits for 4") is not None
    assert second.search("rank 3 waits for me") is None


def test_a_row_that_says_what_nobody_knows_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.toml").write_text('rows = [{ says = "sings", text = "la" }]', "utf-8")
    monkeypatch.setattr(toml, "files", lambda package: tmp_path / package)
    with pytest.raises(ValueError, match="sings"):
        forms.patterns_of(_Says, "", "rows.toml")
