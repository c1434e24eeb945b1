"""Releases are compared as people write them."""

import pytest

from unhang.settings.versions import at_least, at_most, covers, parse_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.6.0+cu124", (2, 6, 0)),
        ("v0.7.1", (0, 7, 1)),
        ("core_v0.15.0", (0, 15, 0)),
        ("23.04", (23, 4)),
        ("main", None),
        (None, None),
    ],
)
def test_numbers_of_a_release(text: str | None, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == version


def test_ten_is_later_than_nine() -> None:
    assert at_least("2.10", "2.9") is True
    assert at_least("2.9.1", "2.10") is False
    assert at_least("2.9", "2.9.0") is True


def test_a_last_minor_release_includes_its_patches() -> None:
    assert at_most("2.1.2", "2.1") is True
    assert at_most("2.2.0", "2.1") is False


def test_an_unknown_release_is_covered_by_everything_or_by_nothing_certain() -> None:
    assert covers(None, None, None) is True
    assert covers(None, "2.0", None) is None
    assert covers("2.4.8", None, "2.4.8") is True
    assert covers("2.5.6", None, "2.4.8") is False
