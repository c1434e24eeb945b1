"""DDP's and ZeRO's own words about models that differ."""

from __future__ import annotations

import pytest

from support.builders import by, incident, source, timeout
from support.crashes import raised
from support.steps import differs, world
from unhang.model.causes import Cause
from unhang.model.events import ModelDifference, PhaseMark
from unhang.model.finding import Strength
from unhang.model.phases import Phase, PhaseEdge
from unhang.rules.desync import models_differ, module_order_changed

D = ModelDifference
ORDER = D.MODULE_ORDER


@pytest.mark.parametrize(
    ("difference", "strength"),
    [
        (D.PARAMETER_COUNT, Strength.PROVES),
        (D.PARAMETER_SHAPE, Strength.PROVES),
        (D.UNFINISHED_REDUCTION, Strength.PROVES),
        (D.MARKED_TWICE, Strength.SUPPORTS),
    ],
)
def test_the_check_of_ddp_speaks(difference: ModelDifference, strength: Strength) -> None:
    (finding,) = models_differ.check(incident(differs(difference, 1, 0)))
    assert (finding.cause, finding.strength) == (Cause.MODEL_DIVERGENCE, strength)


def test_the_few_ranks_without_gradients_are_named() -> None:
    found = incident(
        differs(D.UNFINISHED_REDUCTION, 2), *(timeout(r, global_rank=r) for r in (0, 1, 3))
    )
    (finding,) = models_differ.check(found)
    assert finding.culprits == {2}


def test_where_all_ranks_say_so_none_is_named() -> None:
    found = incident(*(differs(D.UNFINISHED_REDUCTION, r) for r in range(4)))
    (finding,) = models_differ.check(found)
    assert finding.culprits == frozenset()


def test_the_majority_of_counts_tells_the_odd_model() -> None:
    count = D.PARAMETER_COUNT
    found = incident(
        differs(count, 0, 1, count=4, other_count=6),
        differs(count, 1, 0, count=6, other_count=4),
        differs(count, 2, 1, count=4, other_count=6),
    )
    (finding,) = models_differ.check(found)
    assert finding.culprits == {1}


def test_where_all_others_have_other_shapes_the_one_they_compare_with_is_odd() -> None:
    found = incident(world(4), *(differs(D.PARAMETER_SHAPE, r, 0) for r in (1, 2, 3)))
    (finding,) = models_differ.check(found)
    assert finding.culprits == {0}


def test_of_two_ranks_with_other_shapes_none_is_named() -> None:
    (finding,) = models_differ.check(incident(world(2), differs(D.PARAMETER_SHAPE, 1, 0)))
    assert finding.culprits == frozenset()


def test_after_another_failure_it_is_weaker() -> None:
    found = incident(raised(3, line=1), differs(D.PARAMETER_COUNT, 1, 0))
    (finding,) = models_differ.check(found)
    assert finding.strength is Strength.SUPPORTS


def test_the_order_of_modules_is_not_its_business() -> None:
    assert list(models_differ.check(incident(differs(ORDER, step=3)))) == []


def test_the_order_changed_and_then_a_gather_got_stuck() -> None:
    found = incident(differs(ORDER, 1, step=3, line=2), timeout(0, op="_ALLGATHER_BASE", line=9))
    (finding,) = module_order_changed.check(found)
    assert (finding.cause, finding.strength) == (Cause.MODEL_DIVERGENCE, Strength.SUPPORTS)


def test_the_order_changes_when_an_evaluation_begins() -> None:
    evaluation = PhaseMark(source=source(1), origin=by(0), phase=Phase.EVAL, edge=PhaseEdge.BEGIN)
    found = incident(
        evaluation, differs(ORDER, 1, step=3, line=2), timeout(0, op="_ALLGATHER_BASE", line=9)
    )
    (finding,) = module_order_changed.check(found)
    assert finding.strength is Strength.HINTS


def test_the_order_alone_is_routine() -> None:
    assert list(module_order_changed.check(incident(differs(ORDER, step=3)))) == []


def test_a_reduction_is_no_gather() -> None:
    found = incident(differs(ORDER, step=3, line=2), timeout(0, op="ALLREDUCE", line=9))
    assert list(module_order_changed.check(found)) == []
