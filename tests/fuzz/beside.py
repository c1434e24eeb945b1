"""Puts unrelated files beside labelled jobs and compares the verdicts.

`python -m fuzz.beside [FOLDER …]` (from tests/) prints which change. A verdict that became weaker
is allowed; one that became another is not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
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


CASES = Path(__file__).resolve().parents[1] / "cases"


def _of_one(case: Path) -> list[Flip]:
    return list(flips([case]))


def main() -> int:
    """Put every kind beside every labelled job, and return 1 where a verdict became another."""
    parser = argparse.ArgumentParser(prog="fuzz.beside", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[CASES], help="of labelled jobs")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    cases = labelled(*options.folders)
    others = weaker = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for found in pool.map(_of_one, cases, chunksize=4):
            weaker += sum(flip.weaker for flip in found)
            for flip in (one for one in found if not one.weaker):
                others += 1
                told = f"{flip.case}: {flip.kind}: {flip.before} -> {flip.after}\n"
                sys.stdout.write(told)
                sys.stdout.flush()
    pairs = len(cases) * len(KINDS)
    sys.stdout.write(f"{pairs} pairs, {others} became others, {weaker} became weaker\n")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
