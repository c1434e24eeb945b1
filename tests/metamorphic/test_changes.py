"""What must not matter does not: the same job, told otherwise, gets the same verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metamorphic import changes
from metamorphic.jobs import Files, Job, Said, judge, judge_changed, judge_untouched, read_jobs

OWN = read_jobs(own=True)

# Dressings that must not matter, and the jobs whose text they would change in a way that does.
DRESSINGS: dict[str, Callable[[Files], Files]] = {
    "crlf": changes.crlf,
    "quoted": changes.quoted,
    "coloured": changes.coloured,
    "compressed": changes.compressed,
}

CLOCKS_DECIDE = frozenset({"exit-1-on-the-other-node", "timeout-45-seconds-save-58"})
"""Jobs whose label rests on comparing the clocks of two hosts."""

RENAMED = {1: 3, 3: 1, 2: 2}
"""Rank 0 keeps its number: it writes, evaluates and hosts the store."""


def by_name(jobs: list[Job]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("job", jobs, ids=str)


several_files = by_name([job for job in OWN if len(job.files) > 1])
is_text = [job for job in OWN if not any(b"\0" in data for data in job.files.values())]


@pytest.fixture
def before(job: Job) -> Said:
    """The verdict on the job as it is."""
    return judge_untouched(job)


@by_name(is_text)
@pytest.mark.parametrize("dressing", DRESSINGS)
def test_dressing(job: Job, dressing: str, before: Said, tmp_path: Path) -> None:
    assert judge(DRESSINGS[dressing](job.files), tmp_path) == before


@by_name([j for j in OWN if len(j.files) == 1 and b"[pod/" not in next(iter(j.files.values()))])
def test_launcher_prefix(job: Job, before: Said, tmp_path: Path) -> None:
    assert judge(changes.from_pod(job.files), tmp_path) == before


@several_files
def test_order_of_the_files(job: Job, before: Said, tmp_path: Path) -> None:
    names = sorted(job.files)
    rotated = [*names[1:], names[0]]
    assert judge(job.files, tmp_path, names[::-1]) == before
    assert judge(job.files, tmp_path, rotated) == before


def _small_worlds() -> Iterator[Job]:
    """Jobs of one host with few ranks, whose ranks can be renamed without touching anything."""
    for job in OWN:
        text = b"".join(job.files.values())
        ranks = {int(n) for n in re.findall(rb"(?:\[rank|\[Rank |\brank )(\d+)", text)}
        if {1, 3} <= ranks and max(ranks) < 8 and not re.search(rb"dev\d|task|pid=|Group", text):
            yield job


@by_name(list(_small_worlds()))
def test_other_rank_numbers(job: Job, before: Said, tmp_path: Path) -> None:
    after = judge(changes.renamed(job.files, RENAMED), tmp_path)
    expected = frozenset(RENAMED.get(rank, rank) for rank in before.culprits)
    assert after == Said(before.outcome, before.cause, before.strength, expected)


@by_name(OWN)
def test_one_more_waiter_is_no_culprit(job: Job, before: Said, tmp_path: Path) -> None:
    odd = before.culprits | (job.case.culprits or frozenset())
    after = judge(changes.with_waiter(job.files, rank=61, unlike=odd), tmp_path)
    assert after.culprits <= before.culprits
    assert after.cause in (None, before.cause)


@several_files
def test_a_rank_whose_file_is_dropped_is_not_accused(
    job: Job, before: Said, tmp_path: Path
) -> None:
    for index, name in enumerate(job.files):
        after = judge(changes.without(job.files, name), tmp_path / str(index))
        accused = after.culprits - before.culprits - (job.case.culprits or frozenset())
        assert not accused & changes.ranks_of(job.files[name]), f"without {name}"


@by_name([j for j in OWN if len(j.files) > 1 and j.case.name not in CLOCKS_DECIDE])
@pytest.mark.parametrize("seconds", [-40, 40])
def test_the_clock_of_one_host(job: Job, seconds: int, before: Said, tmp_path: Path) -> None:
    for index, name in enumerate(job.files):
        changed = changes.shifted(job.files, name, seconds)
        after = judge_changed(job, changed, tmp_path / str(index))
        assert after.culprits == before.culprits, f"clock of {name}"
