"""What is read from Flight Recorder dumps."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.events.base import Seen
from unhang.model.events.meaning import Fact, Role, Witness
from unhang.model.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpRead(Seen, fact=Fact.DUMPS, witness=Witness.RECORDER, role=Role.REPORT):
    """One rank's Flight Recorder dump was read.

    Attributes:
        recording: what it tells.
        entries, version, back_end: of the dump, for those who only want to show it.
    """

    recording: Recording
    entries: int
    version: str
    back_end: str


class DumpFlaw(enum.Enum):
    """Why a dump tells nothing."""

    CODE = "code"
    """It would have run code; it was refused."""
    UNSAFE = "unsafe"
    """Reading it could have taken all memory or time; it was refused."""
    EMPTY = "empty"
    """It has no bytes: its process was ended while it wrote, or never began to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpUnusable(Seen, fact=Fact.UNUSABLE_DUMPS, witness=Witness.RECORDER, role=Role.REPORT):
    """A file that is, or poses as, a Flight Recorder dump and tells nothing.

    Attributes:
        detail: the code that it would have run, or why it was refused.
    """

    flaw: DumpFlaw
    detail: str = ""
