"""From an artifact to the few lines that some parser wants, each with who wants it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unhang.sources.artifact import Artifact
from unhang.sources.clean import clean
from unhang.sources.line import Line
from unhang.sources.peel import peel
from unhang.sources.unwrap import Unit, rejoin


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
    left = [0] * len(wanted)
    gap = False
    for unit in rejoin(_units(artifact)):
        hits = set()
        for index, want in enumerate(wanted):
            if any(needle in unit.text for needle in want.needles):
                left[index] = want.after
                hits.add(index)
            elif left[index] > 0:
                left[index] -= 1
                hits.add(index)
        if not hits:
            gap = True
            continue
        for message in peel(unit.text, artifact.origin):
            yield (
                Line(
                    artifact=artifact.name,
                    number=unit.number,
                    text=message.text,
                    raw=message.raw,
                    origin=message.origin,
                    at=message.at,
                    header=message.header,
                    gap=gap,
                ),
                frozenset(hits),
            )
            gap = False


def _units(artifact: Artifact) -> Iterator[Unit]:
    with artifact.open() as stream:
        for number, raw in enumerate(stream, start=1):
            for text in raw.decode("utf-8", errors="replace").rstrip("\r\n").split("\r"):
                yield Unit(number=number, text=clean(text))
