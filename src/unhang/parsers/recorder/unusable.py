"""From a dump that cannot be used to what that itself tells."""

from __future__ import annotations

from dataclasses import replace

from unhang.errors import UnsafeArtifact
from unhang.model.events import DumpFlaw, DumpUnusable
from unhang.model.provenance import Provenance
from unhang.parsers.recorder.names import rank_of
from unhang.sources.artifact import Artifact


def empty(artifact: Artifact) -> DumpUnusable:
    """A dump without a byte."""
    return _unusable(artifact, DumpFlaw.EMPTY, "0 bytes")


def refused(artifact: Artifact, error: UnsafeArtifact) -> DumpUnusable:
    """A dump that could have done harm."""
    flaw = DumpFlaw.CODE if error.carries else DumpFlaw.UNSAFE
    return _unusable(artifact, flaw, error.carries or str(error))


def _unusable(artifact: Artifact, flaw: DumpFlaw, detail: str) -> DumpUnusable:
    rank = rank_of(artifact.name, artifact.origin)
    return DumpUnusable(
        source=Provenance(artifact=artifact.name, line=None, text=detail),
        origin=artifact.origin if rank is None else replace(artifact.origin, rank=rank),
        flaw=flaw,
        detail=detail,
    )
