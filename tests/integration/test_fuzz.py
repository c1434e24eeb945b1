"""A few hostile inputs of every command in each run; `make fuzz` takes hours of them."""

import random

import pytest

from fuzz.attack import attack
from fuzz.invented.jobs import jobs, sample
from fuzz.quoted import convicts
from fuzz.requests import kept, some

pytestmark = pytest.mark.integration

CONVICTED = 4
"""Of the 150 jobs below; `python -m fuzz.invented --seed 11 --jobs 150` tells which. None should
be: each is a healthy job that shows what failed elsewhere. Lower it when the judge convicts fewer.
"""


@pytest.mark.timeout(600)
def test_hostile_inputs_are_answered() -> None:
    failures = attack(some(random.Random(11), 40)).failures
    assert [(failure.request.name, failure.what) for failure in failures] == []


@pytest.mark.timeout(600)
def test_what_failed_once_is_answered() -> None:
    requests = kept()
    assert len(requests) >= 5
    failures = attack(requests).failures
    assert [(failure.request.name, failure.what) for failure in failures] == []


@pytest.mark.timeout(600)
def test_no_more_healthy_jobs_that_show_failures_of_others_are_convicted_than_before() -> None:
    found = {
        f"{job.way} | {job.text} | {job.place}": verdict
        for job in sample(list(jobs(11)), 11, 150)
        if (verdict := convicts(job)) is not None
    }
    assert len(found) <= CONVICTED, found
