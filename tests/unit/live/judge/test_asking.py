"""What dumps that are on their way, or that have come, make of a claim among waiting ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unhang.live.judge.asking import Question, answered, key_of
from unhang.live.judge.claim import Claim
from unhang.live.messages.inputs import DumpsReady
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.model.ids import NO_RANKS, Rank
from unhang.model.waits import CallRef

BOTH = frozenset({Rank(0), Rank(1)})
VAGUE = Claim(
    charge=SuspicionReason.CIRCLE,
    culprits=BOTH,
    victims=NO_RANKS,
    call=CallRef(group="0", seq=9),
    waited_s=9.0,
    stage=Stage.CONFIRMED,
    ask=True,
)
STRAYED = replace(
    VAGUE,
    culprits=frozenset({Rank(1)}),
    victims=frozenset({Rank(0)}),
    move="barrier in f (t.py):4",
    due="all_reduce in f (t.py):3",
)


@pytest.mark.parametrize(
    ("claim", "after_s", "stage"),
    [
        (VAGUE, 3.0, Stage.WATCHED),
        (VAGUE, 30.0, Stage.SUSPECTED),
        (VAGUE, 61.0, Stage.CONFIRMED),
        (STRAYED, 3.0, Stage.SUSPECTED),
        (STRAYED, 30.0, Stage.SUSPECTED),
        (STRAYED, 61.0, Stage.CONFIRMED),
    ],
)
def test_whom_habits_name_is_named_at_once_and_ended_no_sooner_than_where_nobody_is_named(
    claim: Claim, after_s: float, stage: Stage
) -> None:
    asked = Question(number=1, key=key_of(claim), at_s=100.0)
    assert answered(claim, asked, 100.0 + after_s).stage is stage


@pytest.mark.parametrize(("told", "named"), [(BOTH - {Rank(1)}, {0}), (NO_RANKS, {1})])
def test_what_recorded_calls_prove_goes_before_habits(
    told: frozenset[Rank], named: set[int]
) -> None:
    answer = DumpsReady(
        number=1, cause=Cause.DESYNC, strength=Strength.PROVES, culprits=told, fired=("DSY101",)
    )
    asked = Question(number=1, key=key_of(STRAYED), at_s=100.0, answer=answer)
    claim = answered(replace(STRAYED, charge=SuspicionReason.MISMATCH), asked, 101.0)
    assert (set(claim.culprits), claim.stage) == (named, Stage.CONFIRMED)
    assert bool(claim.move) is (named == {1})
