"""Open phases: begin without end, bars below 100 %, closed by training that goes on."""

from dataclasses import replace

import pytest

from support.builders import at, by, incident, source, timeout
from support.job_text import incident_of
from unhang.model.events import PhaseMark, Progress
from unhang.model.phases import Phase, PhaseEdge


def mark(
    phase: Phase,
    edge: PhaseEdge,
    rank: int | None = None,
    *,
    line: int = 1,
    when: float | None = None,
) -> PhaseMark:
    return PhaseMark(
        source=source(line),
        origin=by(rank),
        at=None if when is None else at(when),
        phase=phase,
        edge=edge,
    )


def bar(
    done: int,
    total: int,
    phase: Phase | None = None,
    rank: int | None = None,
    *,
    elapsed_s: float | None = None,
    line: int = 1,
) -> Progress:
    return Progress(
        source=source(line),
        origin=by(rank),
        label="",
        done=done,
        total=total,
        phase=phase,
        elapsed_s=elapsed_s,
    )


def test_a_begin_without_its_end_is_open() -> None:
    found = incident(mark(Phase.SAVE, PhaseEdge.BEGIN, when=0), timeout(1, when=605, line=2))
    (phase,) = found.open_phases
    assert phase.phase is Phase.SAVE
    assert phase.unfinished
    assert phase.lasted_s == 605


@pytest.mark.parametrize(
    ("states", "saves"),
    [((1, 2, 3), False), ((1,), True), ((2, 2), True)],
    ids=["it evaluates", "one state", "it stands"],
)
def test_who_goes_on_in_an_evaluation_has_saved(states: tuple[int, ...], saves: bool) -> None:
    bars = [bar(done, 9, Phase.EVAL, line=2 + i) for i, done in enumerate(states)]
    found = incident(mark(Phase.SAVE, PhaseEdge.BEGIN), *bars, timeout(1, line=9))
    assert (Phase.SAVE in {p.phase for p in found.open_phases}) is saves


def test_a_save_in_an_evaluation_is_not_over() -> None:
    found = incident(
        bar(1, 9, Phase.EVAL),
        mark(Phase.SAVE, PhaseEdge.BEGIN, line=2),
        bar(2, 9, Phase.EVAL, line=3),
        timeout(1, line=9),
    )
    assert Phase.SAVE in {p.phase for p in found.open_phases}


def test_its_end_mark_closes_it() -> None:
    found = incident(
        mark(Phase.SAVE, PhaseEdge.BEGIN),
        mark(Phase.SAVE, PhaseEdge.END, line=2),
        timeout(1, line=3),
    )
    assert found.open_phases == ()


def test_training_that_goes_on_closes_it() -> None:
    found = incident(
        mark(Phase.EVAL, PhaseEdge.BEGIN), bar(12, 90, Phase.TRAIN, line=2), timeout(1, line=3)
    )
    assert found.open_phases == ()


def test_training_of_another_rank_does_not_close_a_signed_phase() -> None:
    found = incident(
        mark(Phase.EVAL, PhaseEdge.BEGIN, 0),
        bar(12, 90, Phase.TRAIN, 3, line=2),
        timeout(3, line=3),
    )
    assert [p.rank for p in found.open_phases] == [0]


def test_a_bar_below_its_total_is_open_and_tells_how_long() -> None:
    found = incident(bar(40, 100, Phase.DATA, elapsed_s=1795.0), timeout(1, line=2))
    (phase,) = found.open_phases
    assert phase.unfinished
    assert phase.lasted_s == 1795.0


def test_a_full_bar_is_over() -> None:
    found = incident(
        bar(40, 100, Phase.DATA), bar(100, 100, Phase.DATA, line=2), timeout(1, line=3)
    )
    assert found.open_phases == ()


def test_a_bar_without_label_after_an_announced_evaluation_belongs_to_it() -> None:
    found = incident(
        bar(500, 1000),
        mark(Phase.EVAL, PhaseEdge.BEGIN, line=2),
        bar(6, 50, elapsed_s=590, line=3),
        timeout(1, line=4),
    )
    (phase,) = found.open_phases
    assert phase.phase is Phase.EVAL
    assert phase.lasted_s == 590


def test_the_training_bar_closes_an_announced_evaluation() -> None:
    found = incident(
        bar(500, 1000),
        mark(Phase.EVAL, PhaseEdge.BEGIN, line=2),
        bar(501, 1000, line=3),
        timeout(1, line=4),
    )
    assert not found.open_phases


def test_what_nobody_signed_in_one_artifact_is_not_closed_by_another() -> None:
    elsewhere = replace(bar(6, 50, Phase.TRAIN), source=source(9, "other.log"))
    found = incident(mark(Phase.SAVE, PhaseEdge.BEGIN), elsewhere, timeout(1, line=3))
    (phase,) = found.open_phases
    assert phase.phase is Phase.SAVE


def test_an_end_after_the_alarm_comes_too_late() -> None:
    found = incident(
        mark(Phase.EVAL, PhaseEdge.BEGIN, when=0),
        timeout(1, when=300, line=2),
        mark(Phase.EVAL, PhaseEdge.END, when=304, line=3),
    )
    (phase,) = found.open_phases
    assert phase.phase is Phase.EVAL
    assert phase.lasted_s == 300


def steps(rank: int, first: int, line: int) -> list[Progress]:
    """Three training steps of one rank."""
    return [
        bar(number, 90, Phase.TRAIN, rank, line=line + number - first)
        for number in range(first, first + 3)
    ]


def test_work_that_another_rank_announced_too_is_over_once_that_rank_trains_on() -> None:
    found = incident(
        mark(Phase.DATA, PhaseEdge.BEGIN, 0, line=1),
        mark(Phase.DATA, PhaseEdge.BEGIN, 1, line=2),
        *steps(0, 1, line=3),
        timeout(0, line=9),
    )
    assert found.open_phases == ()


def test_one_step_may_be_printed_before_it_waits_for_the_other_ranks() -> None:
    found = incident(
        mark(Phase.DATA, PhaseEdge.BEGIN, 0, line=1),
        mark(Phase.DATA, PhaseEdge.BEGIN, 1, line=2),
        bar(1, 90, Phase.TRAIN, 0, line=3),
        timeout(0, line=9),
    )
    assert [p.rank for p in found.open_phases] == [1]


def test_the_second_time_is_not_over_because_the_first_is() -> None:
    found = incident(
        mark(Phase.DATA, PhaseEdge.BEGIN, 0, line=1),
        mark(Phase.DATA, PhaseEdge.BEGIN, 1, line=2),
        *steps(0, 1, line=3),
        mark(Phase.DATA, PhaseEdge.BEGIN, 1, line=7),
        timeout(0, line=9),
    )
    assert [p.rank for p in found.open_phases] == [1]


@pytest.mark.parametrize(("unsigned", "over"), [(3, True), (2, False)])
def test_steps_that_nobody_signed_are_of_all_who_announced_work_above(
    unsigned: int, over: bool
) -> None:
    found = incident(
        mark(Phase.DATA, PhaseEdge.BEGIN, 0, line=1),
        mark(Phase.DATA, PhaseEdge.BEGIN, 1, line=2),
        *(mark(Phase.TRAIN, PhaseEdge.DURING, line=3 + n) for n in range(unsigned)),
        timeout(0, line=9),
    )
    assert (found.open_phases == ()) is over


def test_a_backward_pass_shows_that_an_evaluation_is_over() -> None:
    told = ("[rank 0] running validation", "[rank 1] running validation")
    step = 'Thread 11 (active): "MainThread"\n    {f}\n    <module> (fit.py:9)\n'
    backward = step.format(f="backward (torch/autograd/__init__.py:147)")
    gather = step.format(f="all_gather (torch/distributed/distributed_c10d.py:1194)")
    incident = incident_of(*told, **{"rank0.txt": backward, "rank1.txt": gather})
    assert {p.rank for p in incident.open_phases} == {1}


def test_the_bar_of_one_file_does_not_end_the_download() -> None:
    found = incident_of(
        "Fetching 33 files:  27%|##       | 9/33 [09:54<26:34, 65.69s/it]",
        "model-00010-of-00029.safetensors:  41%|####      | 906M/2.21G [00:27<00:38, 34.0MB/s]",
    )
    assert [p.phase for p in found.open_phases] == [Phase.DATA]
