"""Flight Recorder dumps of torch 2.2 and later, pickled or JSON: one event for each.

Unlike the parsers of logs this one is given a whole artifact: a dump has no lines. It keeps only
what a verdict needs, so that the dumps of a thousand ranks fit in memory one after the other.
"""

from __future__ import annotations

import gc
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from unhang.errors import ArtifactError, UnsafeArtifact
from unhang.model.events import DumpRead, Event
from unhang.model.provenance import Origin, Problem, Provenance
from unhang.model.recording import Recording
from unhang.model.time import Clock, Instant
from unhang.parsers.recorder import unusable
from unhang.parsers.recorder.document import DumpDocument, document, load_json
from unhang.parsers.recorder.entries import MALFORMED
from unhang.parsers.recorder.kinds import KindTable
from unhang.parsers.recorder.merging import Merger, Tables
from unhang.parsers.recorder.names import rank_of
from unhang.parsers.recorder.traces import recording
from unhang.sources.artifact import Artifact
from unhang.sources.dump_kind import DumpForm
from unhang.sources.pickles import Damaged, load_plain, salvage

_MOST_BYTES = 1 << 30
_PART = "reader"
_SHOWN_FRAMES = 3


class DumpReader:
    """Reads all dumps of a run; they share one table of the kinds of calls."""

    def __init__(self) -> None:
        self._table = KindTable()
        self._ordered: dict[Path, bool] = {}

    def read(self, artifact: Artifact) -> tuple[list[Event], list[Problem]]:
        """What a dump tells; never raises on any bytes.

        The garbage collector rests meanwhile: dumps hold no cycles, and looking for them would
        take longer than reading.
        """
        enabled = gc.isenabled()
        gc.disable()
        events: list[Event] = []
        problems: list[Problem] = []
        try:
            for said in self._read(artifact):
                if isinstance(said, Problem):
                    problems.append(said)
                else:
                    events.append(said)
        except (ArtifactError, OSError) as error:
            if isinstance(error, UnsafeArtifact):
                events.append(unusable.refused(artifact, error))
            problems.append(_problem(artifact, f"the Flight Recorder dump was not used: {error}"))
        finally:
            if enabled:
                gc.enable()
        return events, problems

    @property
    def tables(self) -> Tables:
        """What the indices in its recordings mean, for `adopt` of a reader in another process."""
        return Tables(self._table.kinds, self._table.moves)

    def adopt(
        self, reads: Sequence[tuple[list[Event], list[Problem]]], foreign: Tables
    ) -> list[tuple[list[Event], list[Problem]]]:
        """What another reader read, with the indices of this one."""
        merger = Merger(self._table, foreign)
        return [
            (
                [
                    replace(event, recording=merger.recording(event.recording))
                    if isinstance(event, DumpRead)
                    else event
                    for event in events
                ],
                problems,
            )
            for events, problems in reads
        ]

    def _read(self, artifact: Artifact) -> Iterator[Event | Problem]:
        if artifact.dump is DumpForm.EMPTY:
            yield unusable.empty(artifact)
            yield _problem(artifact, "the Flight Recorder dump is empty (0 bytes)")
            return
        found = read_document(artifact)
        if found is None:
            yield _problem(artifact, "it is not a Flight Recorder dump, or nothing of it is left")
            return
        if found.taken_s is None:
            found.taken_s = self._ordered_at(artifact)
        if found.cut:
            yield _problem(
                artifact,
                f"the Flight Recorder dump is cut; the {len(found.entries)} calls before the cut"
                " were used",
            )
        rank = rank_of(artifact.name, artifact.origin)
        if rank is None:
            yield _problem(
                artifact,
                "neither the name nor the content of the dump tells its rank; rename it to"
                " `nccl_trace_rank_N`",
            )
        try:
            told = recording(found, self._table, rank, artifact.name)
        except MALFORMED as error:
            yield _problem(
                artifact, f"the calls in the Flight Recorder dump make no sense ({error})"
            )
        else:
            yield _event(artifact, told)

    def _ordered_at(self, artifact: Artifact) -> float | None:
        """When a dump was written that somebody ordered, which the marks beside it show.

        Other dumps may have been copied, or unpacked, long after they were written.
        """
        if artifact.path is None:
            return None
        path = Path(artifact.path)
        folder = path.parent
        if folder not in self._ordered:
            self._ordered[folder] = any(folder.glob("done_*"))
        return path.stat().st_mtime if self._ordered[folder] else None


def read_document(artifact: Artifact) -> DumpDocument | None:
    """Read a dump as it was written, as far as it goes; None where it is none.

    Raises:
        ArtifactError: it was refused.
        OSError: it cannot be read.
    """
    return _pickled(artifact) if artifact.dump is DumpForm.PICKLE else _json(artifact)


def _pickled(artifact: Artifact) -> DumpDocument | None:
    try:
        return document(load_plain(artifact.open, artifact.size_bytes))
    except Damaged:
        found = document(salvage(_bytes(artifact)), cut=True)
        if found is not None and found.entries:
            found.entries.pop()  # the cut may have gone through it
        return found


def _json(artifact: Artifact) -> DumpDocument | None:
    tree, cut = load_json(_bytes(artifact).decode("utf-8", "replace"))
    return document(tree, cut=cut)


def _bytes(artifact: Artifact) -> bytes:
    with io.BufferedReader(cast("io.RawIOBase", artifact.open())) as stream:
        return stream.read(_MOST_BYTES)


def _event(artifact: Artifact, found: Recording) -> DumpRead:
    last = found.last
    at = None
    if last is not None and last.created_s is not None:
        at = Instant(seconds=last.created_s, clock=Clock.UTC, resolution_s=0.001)
    origin = artifact.origin if found.rank is None else replace(artifact.origin, rank=found.rank)
    return DumpRead(
        source=Provenance(artifact=artifact.name, line=None, text=_shown(found)),
        origin=Origin(rank=origin.rank, host=origin.host, incarnation=origin.incarnation),
        at=at,
        recording=found,
        entries=found.entries,
        version=found.version,
        back_end=found.back_end,
    )


def _shown(found: Recording) -> str:
    """The last call as one line of evidence."""
    if found.last is None:
        return f"Flight Recorder dump {found.version} without calls"
    last = found.last
    callers = " < ".join(f"{f.file}:{f.line} ({f.function})" for f in last.frames[:_SHOWN_FRAMES])
    where = f" at {callers}" if callers else ""
    return f"last call: {last.op} #{last.seq} of group {last.group}{where}"


def _problem(artifact: Artifact, message: str) -> Problem:
    return Problem(artifact=artifact.name, component=_PART, message=message)
