"""A recorded run is judged again as it was, through JSON."""

from __future__ import annotations

import pytest

from support.live_jobs import Job, train, watch
from unhang.live.judge.stream import from_line, replay, to_line
from unhang.live.messages.inputs import DumpsReady, OutputEnded, Tick
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.provenance import Message

DUMPS = DumpsReady(
    number=3,
    ranks=frozenset({Rank(0), Rank(1)}),
    cause=Cause.DESYNC,
    strength=Strength.PROVES,
    culprits=frozenset({Rank(1)}),
    summary=Message(key="DSY101.claim", values={"ranks": frozenset({Rank(1)}), "seq": 7}),
    fired=("DSY101",),
)


@pytest.mark.parametrize("event", [DUMPS, OutputEnded(host="gn1", exit_code=-9), Tick()])
def test_inputs_survive_their_lines(event: DumpsReady | OutputEnded | Tick) -> None:
    assert from_line(to_line(event, 12.5)) == (event, 12.5)


def test_a_recorded_run_gives_the_same_actions_again() -> None:
    watched = watch(Job(train([(20, 2, ("exit",))]), world=8, per_host=4), 20)
    watched.tell(OutputEnded(host="gn0", exit_code=1), 1_020.5)
    lines = [to_line(event, now) for now, event in watched.stream]
    assert list(replay(lines)) == watched.actions
    assert watched.confirmed


@pytest.mark.parametrize("line", ["{}", "[]", '{"now": 1}', '{"now": 1, "report": {}}', "1"])
def test_what_is_no_input_is_refused_with_a_sentence(line: str) -> None:
    with pytest.raises(ValueError, match="not an input of a monitor"):
        from_line(line)
