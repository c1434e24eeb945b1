"""A few hostile inputs of every command in each run; `make fuzz` takes hours of them."""

import random

import pytest

from fuzz.attack import attack
from fuzz.requests import some

pytestmark = pytest.mark.integration


@pytest.mark.timeout(600)
def test_hostile_inputs_are_answered() -> None:
    failures = attack(some(random.Random(11), 40)).failures
    assert [(failure.request.name, failure.what) for failure in failures] == []
