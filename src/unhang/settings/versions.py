"""From version strings to an order, and whether a range of releases covers one."""

from __future__ import annotations

from typing import TypeAlias

from unhang import lazy_re as re

Version: TypeAlias = tuple[int, ...]
"""Leading numbers of a release; compared as far as both sides go."""

_NUMBERS = re.compile(r"\d+(?:\.\d+){0,4}")


def parse_version(text: str | None) -> Version | None:
    """Return the numbers of a release, or None where there are none.

    >>> parse_version("2.6.0+cu124")
    (2, 6, 0)
    >>> parse_version("core_v0.15.0")
    (0, 15, 0)
    """
    found = None if text is None else _NUMBERS.search(text)
    return None if found is None else tuple(int(part) for part in found.group().split("."))


def at_least(version: str | None, floor: str | None) -> bool | None:
    """Whether `version` is `floor` or later; None where either is unknown.

    >>> at_least("2.10.1", "2.9")
    True
    """
    left, right = parse_version(version), parse_version(floor)
    if left is None or right is None:
        return None
    width = max(len(left), len(right))
    return _padded(left, width) >= _padded(right, width)


def at_most(version: str | None, ceiling: str | None) -> bool | None:
    """Whether `version` is `ceiling` or earlier; `2.1` includes every 2.1.x.

    >>> at_most("2.1.2", "2.1")
    True
    """
    left, right = parse_version(version), parse_version(ceiling)
    if left is None or right is None:
        return None
    return left[: len(right)] <= right


def covers(version: str | None, since: str | None, last: str | None) -> bool | None:
    """Whether the releases from `since` to `last` (either may be open) hold `version`.

    Returns:
        None where the version is unknown and the range is not open on both sides.
    """
    if since is None and last is None:
        return True
    if parse_version(version) is None:
        return None
    return at_least(version, since) is not False and at_most(version, last) is not False


def _padded(version: Version, width: int) -> Version:
    return version + (0,) * (width - len(version))
