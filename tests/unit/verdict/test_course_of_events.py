"""What happened, in the order of time."""

from dataclasses import replace

from support.builders import at, by, ended, incident, source, timeout
from support.phase_builders import begun
from unhang.model.events import (
    ExceptionKind,
    PhaseMark,
    PythonException,
    Restarted,
    StopKind,
    StopSeen,
)
from unhang.model.ids import Rank
from unhang.model.phases import Phase, PhaseEdge
from unhang.verdict.course_of_events import tell


def keys(*events: object) -> list[str]:
    return [step.what.key for step in tell(incident(*events))]  # type: ignore[arg-type]


def raised(rank: int, *, when: float | None, line: int) -> PythonException:
    return PythonException(
        source=source(line),
        origin=by(rank),
        at=None if when is None else at(when),
        kind=ExceptionKind.USER,
        exception="ValueError",
        message="no",
    )


def test_a_failure_that_is_printed_later_comes_first_if_it_happened_first() -> None:
    told = keys(timeout(0, when=600, global_rank=0, line=1), raised(3, when=5, line=2))
    assert told == ["story.failure.raised", "story.timeout_after"]


def test_without_times_the_place_in_the_log_decides() -> None:
    told = keys(timeout(0, global_rank=0, line=1), raised(3, when=None, line=2))
    assert told == ["story.timeout_after", "story.failure.raised"]


def test_ranks_that_fail_alike_share_a_step() -> None:
    (step,) = tell(incident(raised(1, when=5, line=1), raised(2, when=6, line=2)))
    assert step.ranks == {Rank(1), Rank(2)}
    assert step.what.values["count"] == 2


def test_prints_that_name_nobody_make_no_more_processes_of_it() -> None:
    nameless = replace(raised(1, when=7, line=3), origin=by())
    (step,) = tell(incident(raised(1, when=5, line=1), raised(2, when=6, line=2), nameless))
    assert step.what.values["count"] == 2
    chain = replace(nameless, chained=True), replace(nameless, source=source(9))
    (step,) = tell(incident(*chain))
    assert step.what.values["count"] == 1


def test_a_stop_from_outside_is_told() -> None:
    stop = StopSeen(source=source(1), origin=by(), at=at(1), kind=StopKind.TIME_LIMIT)
    assert keys(stop, ended(0, signal=15, when=2, line=2))[0] == "story.stop.time-limit"


def test_work_that_was_under_way_is_told_with_what_it_was() -> None:
    mark = PhaseMark(
        source=source(1),
        origin=by(0),
        at=at(0),
        phase=Phase.SAVE,
        edge=PhaseEdge.BEGIN,
        detail="Saving checkpoint-40",
    )
    story = tell(incident(mark, timeout(1, when=600, global_rank=1, line=2)))
    assert story[0].what.key.startswith("story.phase")
    assert story[0].what.values["detail"] == "Saving checkpoint-40"
    assert story[0].at is not None


def test_only_work_that_was_begun_and_not_ended_is_in_progress() -> None:
    mark = begun(Phase.SAVE, edge=PhaseEdge.DURING, when=1)
    assert keys(mark, timeout(1, when=600, global_rank=1, line=2)) == ["story.timeout_after"]
    saving = incident(begun(Phase.SAVE, when=1))
    assert len(tell(saving)) == 1
    assert tell(saving, ended_well=True) == ()


def test_a_healthy_job_has_no_story() -> None:
    assert keys() == []


def test_a_restart_by_the_launcher_and_a_further_start_are_told_apart() -> None:
    def again(*, launch: bool) -> Restarted:
        return Restarted(source=source(1), origin=by(), at=at(1), launch=launch)

    end = raised(1, when=2, line=2)
    assert keys(again(launch=False), end)[0] == "story.restart"
    assert keys(again(launch=True), end)[0] == "story.start"
