"""A log that stops earlier proves no more than the whole one."""

from __future__ import annotations

from pathlib import Path

import pytest

from metamorphic import changes
from metamorphic.jobs import LATER_LINES_ACQUIT, ORDER, Job, judge, judge_untouched, read_jobs

SHARES = (0.35, 0.7, 0.9, 0.98)

JOBS = [j for j in read_jobs(own=True) if j.case.name not in LATER_LINES_ACQUIT]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("job", JOBS, ids=str)
def test_a_cut_tail_proves_no_more(job: Job, share: float, tmp_path: Path) -> None:
    """The same cause is not held more strongly, and no other cause is proved.

    What was printed until the cut may support another cause than the whole log does (the first
    echo stands before its cause), but only the whole log may prove one; and a job that the whole
    log leaves undecided stays undecided.
    """
    whole = judge_untouched(job)
    part = judge(changes.cut(job.files, share), tmp_path)
    if part.cause is None:
        return
    assert not job.case.healthy
    if part.cause == whole.cause:
        assert ORDER[part.strength] <= ORDER[whole.strength]
    else:
        assert part.cause in job.case.accept or ORDER[part.strength] < 3
        assert whole.cause is not None
