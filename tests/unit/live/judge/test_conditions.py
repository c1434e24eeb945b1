"""A rank that fails because of others is never more than a suspect."""

from __future__ import annotations

import pytest

from unhang.live.judge.conditions import judge
from unhang.live.judge.pace import Pace
from unhang.live.judge.track import begin
from unhang.live.messages.reports import Beat, ProcessFacts, ProcessReport, Raised
from unhang.live.messages.standing import Charge, Stage
from unhang.model.ids import Rank

LINK = Raised(
    type="RuntimeError",
    message="[third_party/gloo/gloo/transport/tcp/pair.cc:547] Read error [10.0.0.1]:4711:"
    " Connection timed out",
)


@pytest.mark.parametrize(
    ("raised", "stage"),
    [(LINK, Stage.SUSPECTED), (Raised(type="KeyError", message="'labels'"), Stage.CONFIRMED)],
)
def test_a_failure_of_its_own_and_one_of_the_link(raised: Raised, stage: Stage) -> None:
    beat = Beat(host="gn1", pid=7, rank=Rank(1), state="raising", exception=raised)
    report = ProcessReport(
        beat=beat, facts=ProcessFacts(alive=True, state="S"), beats=1, beat_age_s=0.0
    )
    track = begin(report, 0.0)
    track.still.leaving_s = 60.0
    verdict = judge(track, Pace())
    assert (verdict.charge, verdict.stage) == (Charge.RAISED, stage)
