"""Puts unrelated files beside labelled jobs and compares the verdicts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz.unrelated import KINDS
from unhang.engine.gather import Gathered, gather
from unhang.judging import judge_gathered
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.sources.discover import discover


@dataclass(frozen=True, slots=True)
class Flip:
    """A verdict that an unrelated file changed."""

    case: str
    kind: str
    before: str
    after: str
    weaker: bool


def read(*paths: Path) -> Gathered:
    """Read files as `diagnose` does."""
    return gather(discover([str(path) for path in paths]))


def together(one: Gathered, other: Gathered) -> Gathered:
    """What both tell, as if they had been given together."""
    return Gathered(
        events=[*one.events, *other.events],
        artifacts=[*one.artifacts, *other.artifacts],
        problems=[*one.problems, *other.problems],
        size_bytes=one.size_bytes + other.size_bytes,
        natures=one.natures | other.natures,
    )


def verdict(found: Diagnosis) -> str:
    """What may not change."""
    cause = "" if found.cause is None else f" {found.cause.value}"
    ranks = ",".join(map(str, sorted(found.culprits)))
    return f"{found.outcome.value}{cause} {ranks}".strip()


def flips(cases: Sequence[Path], kinds: Sequence[str] = tuple(KINDS)) -> Iterator[Flip]:
    """Yield each verdict that changes."""
    with tempfile.TemporaryDirectory(prefix="unhang-beside-") as folder:
        extra: dict[str, Gathered] = {}
        for kind in kinds:
            name, make = KINDS[kind]
            path = Path(folder) / name
            path.write_text(make(), encoding="utf-8")
            extra[kind] = read(path)
        for case in cases:
            alone = read(*inputs(case))
            before = judge_gathered(alone)
            for kind, gathered in extra.items():
                after = judge_gathered(together(alone, gathered))
                if verdict(before) != verdict(after):
                    weaker = after.outcome is Outcome.UNDETERMINED
                    yield Flip(case.name, kind, verdict(before), verdict(after), weaker)


def labelled(*roots: Path) -> list[Path]:
    """Folders of labelled jobs below some roots; roots that are absent are left out."""
    return [
        case
        for root in roots
        if root.is_dir()
        for case in sorted(root.iterdir())
        if (case / "input").exists() or (case / "case.json").exists()
    ]


def inputs(case: Path) -> list[Path]:
    """The files of a labelled job."""
    if (case / "input").exists():
        return [case / "input"]
    return [path for path in sorted(case.iterdir()) if path.name != "case.json"]
