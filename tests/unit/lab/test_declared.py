"""Faults as JSON: what is written is read again, and what makes no sense is one sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.lab.drill import Drill
from unhang.lab.drills import DRILLS
from unhang.lab.faults.declared import FaultError, dump, fault, load


@pytest.mark.parametrize("drill", DRILLS, ids=lambda drill: drill.name)
def test_faults_of_every_drill_survive_the_way_through_the_environment(drill: Drill) -> None:
    assert load(dump(drill.faults)) == drill.faults


def test_one_fault_needs_no_list() -> None:
    (found,) = load('{"what": "sleep", "ranks": [2], "when": {"call": 5}, "for_s": 3}')
    assert found == fault("sleep", 2, call=5, options={"for_s": 3})


def test_without_ranks_it_hits_all() -> None:
    (found,) = load('{"what": "kill", "when": {"seconds": 0.5}}')
    assert found.hits(0)
    assert found.hits(511)


def test_an_empty_list_of_ranks_hits_nobody() -> None:
    (found,) = load('{"what": "kill", "ranks": [], "when": {"step": 1}}')
    assert not found.hits(0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sleep", "is not JSON"),
        ("[1]", "a fault is an object"),
        ('{"what": "sleep"}', "names one of start, call, step"),
        ('{"what": "sleep", "when": {"step": 1, "call": 2}}', "names one of"),
        ('{"what": "sleep", "when": {"step": "one"}}', "\"step\" does not take 'one'"),
        ('{"what": "sleep", "when": {"phase": "lunch"}}', "known are save, eval, data, compile"),
        ('{"what": "sleep", "ranks": "2", "when": {"step": 1}}', "a list of numbers"),
        ('{"what": "sleep", "when": {"step": 1, "nth": "x"}}', "does not take"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_sentence(text: str, reason: str) -> None:
    with pytest.raises(FaultError, match=reason) as caught:
        load(text)
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(("what", "when", "ranks", "step", "nth", "phase")), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    try:
        load(json.dumps(value))
    except FaultError:
        return
