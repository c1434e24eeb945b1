"""Who left its habit, of ranks that wait for each other."""

from __future__ import annotations

import pytest

from support.live_jobs import waiting_in
from unhang.live.judge.habits import strayed
from unhang.live.judge.track import Track, begin
from unhang.live.messages.reports import Beat, Course, ProcessFacts, ProcessReport
from unhang.model.ids import Rank

USUAL = Course(fits=True, move="irecv(src=1) in step (t.py):9", due="irecv(src=1) in step (t.py):9")


def other(peer: int) -> Course:
    return Course(fits=False, move=f"irecv(src={peer}) in step (t.py):4", due=USUAL.due)


def ranks(*courses: Course | None) -> dict[Rank, Track]:
    found = {}
    for number, course in enumerate(courses):
        beat = Beat(host="gn1", pid=9, rank=Rank(number), stack=waiting_in("recv"), course=course)
        facts = ProcessFacts(alive=True)
        report = ProcessReport(beat=beat, facts=facts, beats=1, beat_age_s=0.0)
        found[Rank(number)] = begin(report, 0.0)
    return found


@pytest.mark.parametrize(
    ("courses", "among", "named"),
    [
        ((USUAL, other(0)), {0, 1}, {1}),
        ((None, other(0)), {0, 1}, {1}),
        ((USUAL, USUAL), {0, 1}, set()),
        ((other(1), other(0)), {0, 1}, set()),
        ((USUAL, USUAL, other(1)), {0, 1, 2}, {2}),
        ((other(3), other(0), USUAL), {0, 1, 2}, {2}),
        # What most of the others did as well was due.
        ((other(1), other(0), other(3), USUAL), {2, 3}, {3}),
        ((USUAL, USUAL, other(3), USUAL), {2, 3}, {2}),
        ((USUAL, other(0), other(1), USUAL), {0, 1, 2, 3}, {1, 2}),
    ],
)
def test_who_alone_did_something_else_is_odd_or_who_alone_did_not(
    courses: tuple[Course | None, ...], among: set[int], named: set[int]
) -> None:
    found = strayed(frozenset(map(Rank, among)), ranks(*courses))
    assert set(found.ranks) == named
    assert bool(found.move) is bool(named)


def test_who_did_not_do_what_all_others_did_is_told_what_that_was() -> None:
    found = strayed(frozenset({Rank(2), Rank(3)}), ranks(other(1), other(0), other(3), USUAL))
    assert (found.move, found.due) == ("irecv in step (t.py):4", "")
