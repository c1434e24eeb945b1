"""Batches of labelled jobs that the judge had never seen, as they were at first sight.

A batch is a folder of jobs with their labels. What it came to is kept as data, without any text of
the jobs; a batch that is judged again, after it could be learnt from, gets a row of its own that
says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from score.corpus import Case, Corpus, read_label
from score.marks import Guilty, Mark, Result
from score.tables import Share, Table, forced, share

RECORD = Path(__file__).parent / "batches.json"
TITLE = "Batches at first sight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one way of judging came to on a batch: counts, each of how many.

    Attributes:
        right: cause named as accepted, of the failed jobs whose files suffice.
        culprits: the ranks exact, of the failed jobs whose files prove them.
        false_blame: a cause that is false blame, a cause for a healthy job, or an innocent rank.
        false_proofs: said to be proved, and the cause or a rank is wrong.
        claimed_wrong: wrong causes, of all causes claimed.
        abstained: no cause named, of all failed jobs.
        forced: as `right`, where the likely cause counts as well.
        forced_wrong: healthy jobs for which a cause, or a likely one, is named.
    """

    right: tuple[int, int]
    culprits: tuple[int, int]
    false_blame: tuple[int, int]
    false_proofs: tuple[int, int]
    claimed_wrong: tuple[int, int]
    abstained: tuple[int, int]
    forced: tuple[int, int]
    forced_wrong: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch, judged once.

    Attributes:
        name: of the batch; `judged` when, as YYYY-MM-DD.
        first: nothing of it had been seen before.
        jobs, healthy: how many jobs it has, and how many of them did not fail.
        judge: the judge's figures; `baseline` those of the keyword search.
    """

    name: str
    judged: str
    first: bool
    jobs: int
    healthy: int
    judge: Figures
    baseline: Figures


def read_batch(folder: Path) -> Corpus:
    """The folder as a corpus of its own."""
    return Corpus(key="batch", title=folder.name, root=folder, own=False, read=read_label)


def read_seen(folder: Path) -> Corpus:
    """A batch that may be learnt from now: one source, which is left out where it is judged."""
    return Corpus(key=folder.name, title=folder.name, root=folder, own=False, read=_of_one_source)


def _of_one_source(corpus: Corpus, folder: Path) -> Case:
    return replace(read_label(corpus, folder), source=corpus.key)


def summarise_batch(name: str, judged: Sequence[Mark]) -> Batch:
    """Count what the judge and the keyword search came to on the same jobs."""
    return Batch(
        name=name,
        judged=datetime.now(timezone.utc).date().isoformat(),
        first=all(batch.name != name for batch in load()),
        jobs=len(judged),
        healthy=sum(m.case.healthy for m in judged),
        judge=_figures(judged),
        baseline=_figures([m.searched for m in judged]),
    )


def load(record: Path = RECORD) -> list[Batch]:
    """All batches on record, oldest first."""
    if not record.exists():
        return []
    return [_batch(row) for row in json.loads(record.read_text(encoding="utf-8"))]


def append(batch: Batch, record: Path = RECORD) -> None:
    """Put a batch on record; rows are never changed."""
    rows = [asdict(known) for known in (*load(record), batch)]
    record.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def table(batches: Sequence[Batch]) -> Table:
    """Two rows for each batch: the judge's, and the keyword search's."""
    head = (
        "batch",
        "by",
        "cause right, where the files suffice",
        "likely cause counted",
        "ranks exact, where provable",
        "false blame",
        "false proofs",
        "claimed and wrong",
        "no cause named",
        "healthy, and a cause or a likely one named",
    )
    rows = []
    for batch in batches:
        when = batch.judged if batch.first else f"{batch.judged}, seen before"
        jobs = f"{batch.jobs} jobs, {batch.healthy} healthy"
        for who, figures in (("unhang", batch.judge), ("keywords", batch.baseline)):
            rows.append((f"{batch.name} ({when}; {jobs})", who, *_cells(figures)))
    return Table(TITLE, head, tuple(rows))


def _cells(f: Figures) -> tuple[Share, ...]:
    order = (
        f.right,
        f.forced,
        f.culprits,
        f.false_blame,
        f.false_proofs,
        f.claimed_wrong,
        f.abstained,
        f.forced_wrong,
    )
    return tuple(Share(*pair) for pair in order)


def _figures(marks: Sequence[Mark]) -> Figures:
    failed = [m for m in marks if not m.case.healthy]
    suffices = [m for m in failed if m.case.suffices]
    claimed = [m for m in marks if m.verdict.cause is not None]
    return Figures(
        right=_pair(suffices, lambda m: m.verdict.cause in m.case.causes),
        culprits=_pair([m for m in failed if m.case.culprits], lambda m: m.guilty is Guilty.EXACT),
        false_blame=_pair(marks, _blames_falsely),
        false_proofs=_pair(marks, lambda m: m.verdict.strength == "proves" and _errs(m)),
        claimed_wrong=_pair(claimed, lambda m: m.result is not Result.RIGHT),
        abstained=_pair(failed, lambda m: m.verdict.cause is None),
        forced=_pair(suffices, lambda m: forced(m.verdict) in m.case.causes),
        forced_wrong=_pair(
            [m for m in marks if m.case.healthy], lambda m: forced(m.verdict) is not None
        ),
    )


def _blames_falsely(m: Mark) -> bool:
    blamed = m.case.healthy and bool(m.verdict.culprits)
    return blamed or m.result is Result.FALSE_BLAME or m.guilty is Guilty.INNOCENT


def _errs(m: Mark) -> bool:
    return m.result in (Result.WRONG, Result.FALSE_BLAME) or m.guilty is Guilty.INNOCENT


def _pair(marks: Sequence[Mark], holds: Callable[[Mark], bool]) -> tuple[int, int]:
    found = share(marks, holds)
    return found.count, found.of


def _batch(row: dict[str, object]) -> Batch:
    figures = {key: _read_figures(row[key]) for key in ("judge", "baseline")}
    return Batch(**{**row, **figures})  # type: ignore[arg-type]


def _read_figures(value: object) -> Figures:
    assert isinstance(value, dict)
    return Figures(**{key: (int(pair[0]), int(pair[1])) for key, pair in value.items()})
