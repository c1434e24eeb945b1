"""Nouns of a capture: what was gathered of a job on a node, and what was not and why."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from unhang.model.ids import Rank
from unhang.model.provenance import Message

SCHEMA = "unhang.capture/1"
SUFFIX = ".unhang.tar.zst"
"""How the name of a bundle ends."""
MANIFEST = "manifest.json"
"""The member of a bundle that lists the others."""


class Fate(enum.Enum):
    """What became of one source of evidence."""

    TAKEN = "taken"
    PARTLY = "partly"
    """Some of it; `why` tells what ended it."""
    REFUSED = "refused"
    TIMED_OUT = "timed out"
    ABSENT = "not here"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedFile:
    """A member of the bundle.

    Attributes:
        path: its name in the bundle.
        size_bytes: of the text as it stands in the bundle.
        cut: its source held more.
    """

    path: str
    size_bytes: int
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """One source of evidence about one subject.

    Attributes:
        source: what was asked: `py-spy`, `kernel-log`.
        subject: about whom: `host`, `rank 3`, `pid 4711`, `run`.
        why: the reason where it was not taken as a whole.
        seconds: how long it took.
    """

    source: str
    subject: str
    fate: Fate
    seconds: float
    why: Message | None = None
    files: tuple[CapturedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedProcess:
    """A process that was looked at; `role` is `rank`, `launcher`, `loader` or `other`."""

    pid: int
    role: str
    rank: Rank | None
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a bundle holds.

    Attributes:
        host: the node, by its pseudonym where names were replaced.
        at: when the capture began, ISO 8601 with zone.
        limit_s: what it was allowed to take.
        seconds: what it took.
        redacted: how often each kind of secret or name was replaced; never a value.
        names_replaced: host names, users, addresses and paths were replaced, too.
        unhang: our version.
    """

    host: str
    at: str
    limit_s: float
    seconds: float
    processes: tuple[CapturedProcess, ...]
    entries: tuple[ManifestEntry, ...]
    redacted: Mapping[str, int]
    names_replaced: bool
    unhang: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureResult:
    """A bundle that was written."""

    path: Path
    manifest: Manifest
    size_bytes: int
