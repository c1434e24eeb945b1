"""Saves that a judge sees: where, how often, and what an end would lose."""

from __future__ import annotations

from support.live_jobs import PLACES
from unhang.live.judge.checkpoints import Checkpoints
from unhang.live.judge.track import begin
from unhang.live.messages.reports import Beat, ProcessFacts, ProcessReport
from unhang.model.ids import Rank

MIB = 1 << 20


def look(saves: Checkpoints, second: float, stored: int, place: str = "step") -> None:
    beat = Beat(
        host="gn1",
        pid=7,
        rank=Rank(0),
        process_started_s=1_000.0,
        wall_s=1_000.0 + second,
        stack=PLACES[place],
        steps=int(second),
    )
    facts = ProcessFacts(alive=True, state="S", stored_bytes=stored)
    report = ProcessReport(beat=beat, facts=facts, beats=int(second), beat_age_s=0.0)
    saves.look({Rank(0): begin(report, second)}, second)


def test_before_any_save_all_work_of_the_process_would_be_lost() -> None:
    saves = Checkpoints()
    look(saves, 300.0, 0)
    assert (saves.unsaved_s(360.0), saves.interval_s, saves.at_s) == (360.0, None, [])


def test_a_save_is_learnt_with_its_place_and_one_too_short_to_be_seen_by_its_size() -> None:
    saves, stored = Checkpoints(), 0
    for second in range(200):
        if second in {50, 51, 52}:
            stored += 20 * MIB
            look(saves, second, stored, "save")
        else:
            stored += 60 * MIB if second == 150 else 300  # between two looks; logs
            look(saves, second, stored)
    assert [round(at) for at in saves.at_s] == [52, 150]
    assert saves.place == "checkpoint (train.py:60)"
    assert saves.interval_s == 98.0
    assert saves.unsaved_s(250.0) == 100.0


def test_what_is_stored_elsewhere_is_no_checkpoint() -> None:
    saves = Checkpoints()
    for second in range(60):
        look(saves, second, second * 5 * MIB, "data")
    for second in range(60, 80):
        look(saves, second, 300 * MIB)
    assert saves.at_s == []


def test_a_save_moves_while_something_is_stored() -> None:
    saves = Checkpoints()
    for second in range(10):
        look(saves, second, second * MIB, "save")
    assert saves.saving(10.0) == frozenset({0})
    assert saves.saving(16.0) == frozenset()


def test_a_thread_that_stores_at_times_is_a_save_that_moves() -> None:
    """As an asynchronous save to a slow device: the main thread waits in a collective meanwhile."""
    saves, stored = Checkpoints(), 0
    for second in range(20):
        stored += MIB if second % 2 else 0
        look(saves, second, stored)
    assert saves.saving(20.0) == frozenset({0})
    assert saves.saving(26.0) == frozenset()


def test_logs_are_no_save() -> None:
    saves = Checkpoints()
    for second in range(600):
        look(saves, second, second // 10 * 20_000)
    assert (saves.saving(600.0), saves.at_s) == (frozenset(), [])
