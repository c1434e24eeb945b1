"""A few hostile inputs of every command in each run; `make fuzz` takes hours of them."""

import random

import pytest

from fuzz.attack import attack
from fuzz.requests import kept, some

pytestmark = pytest.mark.integration


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
