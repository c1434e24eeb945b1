import json

import pytest

from unhang.live.messages.job_snapshot import (
    Condition,
    Edge,
    GroupView,
    HostView,
    JobSnapshot,
    RankClass,
    RankView,
    Stage,
    Suspicion,
    SuspicionReason,
)
from unhang.model.codec import decode, document, encode
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.waits import CallRef

CALL = CallRef(group="0", description="default_pg", seq=808, op="all_reduce")
ONE, TWO = frozenset({Rank(2)}), frozenset({Rank(0), Rank(1)})
SNAPSHOT = JobSnapshot(
    at_s=1_763_700_000.5,
    up_s=60.0,
    world_size=3,
    ranks=(
        RankView(
            rank=Rank(2), host="gpu-07", pid=41, condition=Condition.STOPPED, since_s=4.0, steps=0
        ),
    ),
    classes=(
        RankClass(
            ranks=TWO, condition=Condition.WAITING, phase=None, op="x", place="", since_s=3.0
        ),
    ),
    groups=(GroupView(name="0", issued=(7, 8), waiting=TWO, lacking=ONE, since_s=3.0),),
    edges=(Edge(waiters=TWO, on=ONE, call=CALL, since_s=3.0),),
    suspicions=(
        Suspicion(
            culprits=ONE,
            victims=TWO,
            charge=SuspicionReason.STOPPED,
            stage=Stage.CONFIRMED,
            phase=Phase.SAVE,
            call=CALL,
            since_s=3.0,
            why=Message(key="live.stopped", values={"ranks": ONE, "op": "all_reduce"}),
        ),
    ),
    hosts=(HostView(host="gpu-07", age_s=0.1, ranks=ONE),),
    phases_s={"save": 12.5},
)


def test_a_standing_survives_the_way_through_json() -> None:
    assert decode(JobSnapshot, json.loads(json.dumps(encode(SNAPSHOT)))) == SNAPSHOT


def test_unknown_fields_of_a_newer_version_are_left_aside() -> None:
    data = json.loads(json.dumps(encode(SNAPSHOT))) | {"colour": "blue"}
    assert decode(JobSnapshot, data) == SNAPSHOT


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "dict was expected"),
        ({"up_s": 1.0}, "at_s"),
        ({"at_s": "soon", "up_s": 1.0}, "JobSnapshot.at_s: float was expected, and str found"),
        ({"at_s": 1.0, "up_s": 1.0, "world_size": True}, "a number was expected"),
        ({"at_s": 1, "up_s": 1, "edges": [{"waiters": "a", "on": "", "since_s": 1}]}, "ranks"),
        ({"at_s": 1, "up_s": 1, "groups": [{"name": "0", "issued": [1]}]}, "2 values"),
    ],
)
def test_what_is_no_standing_is_refused_with_a_sentence(data: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        decode(JobSnapshot, data)


def test_its_lines_are_the_same_json() -> None:
    text = document("unhang.standing/1", SNAPSHOT)
    assert decode(JobSnapshot, json.loads(text)) == SNAPSHOT
    assert text.startswith('{"schema":"unhang.standing/1",')
    assert sum(line.startswith("{") for line in text.splitlines()) > 5
