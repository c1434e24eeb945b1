"""What is read from Flight Recorder dumps."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.events.base import Seen
from unhang.model.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpRead(Seen):
    """One rank's Flight Recorder dump was read.

    Attributes:
        recording: what it tells.
        entries, version, back_end: of the dump, for those who only want to show it.
    """

    recording: Recording
    entries: int
    version: str
    back_end: str
