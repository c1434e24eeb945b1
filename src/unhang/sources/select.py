"""From an artifact to the few lines that some parser wants, each with who wants it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unhang.sources.artifact import Artifact
from unhang.sources.line import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The texts that one reader asks for; see `parsers.base.Parser` for the meaning."""

    needles: tuple[str, ...]
    after: int = 0
    sampled: bool = False


def select(artifact: Artifact, wanted: Sequence[Wanted]) -> Iterator[tuple[Line, frozenset[int]]]:
    """Yield the logical lines of `artifact` that hold a needle, in order.

    Args:
        artifact: what to read.
        wanted: one entry for each reader.

    Yields:
        A line and the indexes into `wanted` of those that asked for it.

    Raises:
        ArtifactError: the artifact cannot be opened or read; lines before the damage have
            been yielded.
    """
    open_until = [0] * len(wanted)
    with artifact.open() as stream:
        for number, raw in enumerate(stream, start=1):
            text = raw.decode("utf-8", errors="replace").rstrip("\r\n")
            hits = set()
            for index, want in enumerate(wanted):
                if any(needle in text for needle in want.needles):
                    open_until[index] = number + want.after
                    hits.add(index)
                elif number <= open_until[index]:
                    hits.add(index)
            if hits:
                yield (
                    Line(artifact=artifact.name, number=number, text=text, raw=text),
                    frozenset(hits),
                )
