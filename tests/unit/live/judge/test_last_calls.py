"""Of ranks that died in their calls, who had come to another one than all others."""

from __future__ import annotations

import pytest

from unhang.live.judge.last_calls import parted
from unhang.live.judge.track import Track, begin
from unhang.live.messages.job_snapshot import Stage
from unhang.live.messages.reports import Beat, GroupBeat, ProcessFacts, ProcessReport, Raised
from unhang.model.ids import Rank

ABORTED, ENDED = 6, 15
LOSS, LARGER = "all_reduce of 1 float32 in f (t.py):4", "all_reduce of 8 float32 in f (t.py):4"
FAILED = Raised(type="RuntimeError", message="Connection closed by peer [10.0.0.1]:4")


def dead(
    rank: int,
    number: int | None,
    call: str | None,
    signal: int = ENDED,
    *,
    members: tuple[int, ...] = (0, 1, 2, 3),
    raised: Raised | None = None,
) -> Track:
    group = GroupBeat(name="0", ranks=tuple(map(Rank, members)), enqueued=3)
    beat = Beat(
        host="a", pid=rank, rank=Rank(rank), world_size=4, groups={"0": group}, exception=raised
    )
    facts = ProcessFacts(alive=False, signal=signal, last_call=call, last_number=number)
    return begin(ProcessReport(beat=beat, facts=facts, beats=9, beat_age_s=0.0), 0.0)


def odd(*tracks: Track) -> set[int] | None:
    claim = parted({t.rank: t for t in tracks if t.rank is not None}, 4)
    assert claim is None or (claim.stage, claim.move) == (Stage.WATCHED, LOSS)
    return None if claim is None else set(claim.culprits)


@pytest.mark.parametrize("strays_to", [(6, LARGER), (5, LOSS), (7, LOSS)])
@pytest.mark.parametrize("aborted", [0, 3])
def test_who_came_to_another_call_than_all_others_is_odd(
    strays_to: tuple[int, str], aborted: int
) -> None:
    signals = {aborted: ABORTED}
    most = [dead(rank, 6, LOSS, signals.get(rank, ENDED)) for rank in (0, 1, 2)]
    assert odd(*most, dead(3, *strays_to, signals.get(3, ENDED))) == {3}


def others(signal: int = ABORTED) -> list[Track]:
    return [dead(rank, 6, LOSS, signal) for rank in (0, 1, 2)]


@pytest.mark.parametrize(
    "tracks",
    [
        pytest.param([*others(), dead(3, 6, LOSS)], id="all the same"),
        pytest.param(others(), id="one was not seen"),
        pytest.param([*others(), dead(3, None, None)], id="one call is unknown"),
        pytest.param([*others(ENDED), dead(3, 6, LARGER)], id="nobody was aborted"),
        pytest.param([*others()[1:], dead(0, 5, LOSS), dead(3, 6, LARGER)], id="three sides"),
        pytest.param([*others()[1:], dead(0, 6, LARGER), dead(3, 6, LARGER)], id="two and two"),
        pytest.param([*others(), dead(3, 6, LARGER, members=(2, 3))], id="a smaller group"),
        pytest.param(
            [*others(), dead(3, 6, LARGER, raised=Raised(type="ValueError", message="x"))],
            id="one raised by itself",
        ),
        pytest.param([*others(), dead(3, 6, LARGER, signal=9)], id="one was killed"),
    ],
)
def test_nobody_is_odd_where_that_does_not_tell(tracks: list[Track]) -> None:
    assert odd(*tracks) is None


def test_whose_call_failed_because_of_that_was_in_it() -> None:
    assert odd(*others(), dead(3, 6, LARGER, signal=0, raised=FAILED)) == {3}
