"""The keys that a framework's own file takes, release by release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unhang.settings.versions import parse_version


@dataclass(frozen=True, kw_only=True)
class AcceptedKeys:
    """All keys below one key of a file, as `tools/knobs` reads them from released packages.

    Attributes:
        under: the key above them; empty = outermost.
        strict: the framework stops at a key that it does not know.
        ignores: it reads none but these, and says nothing of others.
        flags: they are those of its program, which stops at a flag that it does not know.
        unless: keys with which the user's own code declares more.
        releases: by key, the releases read that take it.
    """

    under: str
    strict: bool
    ignores: bool
    flags: bool
    unless: frozenset[str]
    releases: Mapping[str, tuple[str, ...]]

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> AcceptedKeys:
        """A part of `accepts` in a data file: names in one text, by the releases that have them."""
        return cls(
            under=row["under"],
            strict=row.get("strict", False),
            ignores=row.get("ignores", False),
            flags=row.get("flags", False),
            unless=frozenset(row.get("unless", ())),
            releases={
                key: tuple(told.split())
                for told, names in row.get("keys", {}).items()
                for key in names.split()
            },
        )

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The releases that declare any of them, the oldest first."""
        found = {release for several in self.releases.values() for release in several}
        return tuple(sorted(found, key=lambda release: parse_version(release) or ()))

    def takes(self, key: str, version: str | None) -> bool | None:
        """Whether a release takes a key; the newest one read where the release is unknown.

        Returns:
            None where the releases read on both sides of it differ, or none is as old.
        """
        having = self.releases.get(key, ())
        asked = parse_version(version) if version is not None else None
        if asked is None:
            return self.read[-1] in having if self.read else None
        older = [r for r in self.read if (parse_version(r) or ()) <= asked]
        newer = [r for r in self.read if (parse_version(r) or ()) >= asked]
        if not older:
            return None
        told = {r in having for r in (older[-1], *newer[:1])}
        return told.pop() if len(told) == 1 else None
