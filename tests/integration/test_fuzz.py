"""A few hostile inputs in each run; `make fuzz` takes hours of them."""

import random
from pathlib import Path

import pytest

from fuzz.attack import attack
from fuzz.mutate import mutate, seeds

pytestmark = pytest.mark.integration

_TESTS = Path(__file__).parents[1]


@pytest.mark.timeout(600)
def test_hostile_inputs_are_judged() -> None:
    source = random.Random(11)
    roots = seeds(_TESTS / "cases", most_bytes=32 << 10)
    chosen = (source.choice(roots) for _ in range(40))
    batch = [mutate(path.read_bytes(), path.name, source) for path in chosen]
    assert [(failure.name, failure.what) for failure in attack(batch).failures] == []
