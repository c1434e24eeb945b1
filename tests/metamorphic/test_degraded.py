"""A text that tells less may lead to a weaker verdict, never to another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metamorphic import changes
from metamorphic.jobs import (
    EXTERNAL,
    LATER_LINES_ACQUIT,
    ORDER,
    Files,
    Job,
    judge_changed,
    judge_untouched,
    read_jobs,
)

OWN = read_jobs(own=True)
ALL = OWN + read_jobs(own=False)
every_job = pytest.mark.parametrize("job", ALL, ids=str)

DEGRADED: dict[str, Callable[[Files], Files]] = {
    "untimed": changes.untimed,
    "anonymous": changes.anonymous,
    "wrapped": changes.wrapped,
    "glued": changes.glued,
}


@pytest.mark.skipif(not EXTERNAL.is_dir(), reason="the external corpora are not here")
def test_external_jobs_take_part() -> None:
    assert len(ALL) > len(OWN)


@every_job
@pytest.mark.parametrize("how", DEGRADED)
def test_less_is_told(job: Job, how: str, tmp_path: Path) -> None:
    before = judge_untouched(job)
    after = judge_changed(job, DEGRADED[how](job.files), tmp_path)
    if after.cause is not None:
        assert after.cause in job.case.accept | {before.cause}
        assert ORDER[after.strength] <= ORDER[before.strength] or before.cause is None


@pytest.mark.parametrize(
    "job", [job for job in ALL if job.case.name not in LATER_LINES_ACQUIT], ids=str
)
@pytest.mark.parametrize("seed", range(2))
def test_lines_are_lost(job: Job, seed: int, tmp_path: Path) -> None:
    """What acquits may be lost with the lines; but no false blame is proved."""
    before = judge_untouched(job)
    after = judge_changed(job, changes.torn(job.files, seed), tmp_path)
    if after.cause not in job.case.accept | {None, before.cause}:
        assert ORDER[after.strength] < 3
