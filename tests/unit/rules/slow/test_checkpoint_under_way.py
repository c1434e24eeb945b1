"""A checkpoint still being saved or loaded at the time-out."""

import pytest

from support.builders import timeout
from support.phase_builders import bar, begun, findings, stack, strength
from unhang.model.finding import Strength
from unhang.model.phases import Phase, PhaseEdge
from unhang.rules.slow.checkpoint_under_way import check


def test_a_save_that_began_and_did_not_end_before_a_barrier() -> None:
    events = (begun(Phase.SAVE), timeout(4, seq=9_387, numel=1, line=2))
    assert strength(check, *events) is Strength.SUPPORTS


def test_times_that_fit_cannot_tell_slow_from_stuck() -> None:
    events = (
        begun(Phase.SAVE, framework="torchtune", when=0),
        timeout(4, numel=1, line=2, when=640),
    )
    assert strength(check, *events) is Strength.SUPPORTS


def test_a_save_that_ends_after_the_alarm_was_slow() -> None:
    events = (
        begun(Phase.SAVE, when=0),
        timeout(4, numel=1, line=2, when=640),
        begun(Phase.SAVE, edge=PhaseEdge.END, line=3, when=700),
    )
    assert strength(check, *events) is Strength.PROVES


def test_a_load_counts_too() -> None:
    events = (bar(Phase.LOAD, elapsed_s=599), timeout(4, seq=2, numel=1, line=2))
    assert strength(check, *events) is Strength.PROVES


def test_the_saving_rank_is_named() -> None:
    (finding,) = findings(check, begun(Phase.SAVE, 0), timeout(4, numel=1, line=2, global_rank=4))
    assert finding.culprits == {0}


def test_a_collective_of_the_model_without_times_is_a_hint() -> None:
    events = (begun(Phase.SAVE), timeout(4, op="ALLGATHER", numel=4_096, line=2))
    assert strength(check, *events) is Strength.HINTS


def test_a_save_that_began_after_the_others_waited_is_a_hint() -> None:
    events = (begun(Phase.SAVE, when=0), timeout(4, numel=1, line=2, when=120))
    assert strength(check, *events) is Strength.HINTS


@pytest.mark.parametrize(("last", "sure"), [(395, Strength.SUPPORTS), (200, Strength.HINTS)])
def test_a_short_save_that_kept_on_until_the_alarm_did_not_hang(
    last: float, sure: Strength
) -> None:
    """The wait of 600 s is longer than it; each sign of it comes some 20 s after the one before."""
    signs = [begun(Phase.SAVE, 0, line=n, when=last - 20 * (9 - n)) for n in range(1, 10)]
    waits = [timeout(r, numel=1, line=10 + r, when=400, global_rank=r) for r in (1, 2, 3)]
    assert strength(check, *signs, *waits) is sure


def test_a_save_that_ended_is_over() -> None:
    events = (
        begun(Phase.SAVE),
        begun(Phase.SAVE, edge=PhaseEdge.END, line=2),
        timeout(4, numel=1, line=3),
    )
    assert strength(check, *events) is None


def test_only_the_middle_of_a_save_was_seen() -> None:
    events = (begun(Phase.SAVE, edge=PhaseEdge.DURING), timeout(4, numel=1, line=2))
    assert strength(check, *events) is Strength.HINTS


def test_rank_0_waits_too_so_nobody_is_saving() -> None:
    events = (begun(Phase.SAVE), timeout(0, numel=1, line=2), timeout(1, numel=1, line=3))
    assert strength(check, *events) is Strength.HINTS


def test_a_live_stack_in_a_save() -> None:
    events = (
        stack("torch/serialization.py:save", Phase.SAVE),
        timeout(4, numel=1, line=2),
    )
    assert strength(check, *events) is Strength.PROVES


def test_a_live_stack_in_a_save_while_nobody_waits() -> None:
    assert strength(check, stack("torch/serialization.py:save", Phase.SAVE)) is None


def test_a_node_that_loads_is_named_as_a_whole() -> None:
    loading = [begun(Phase.LOAD, rank, line=rank) for rank in (4, 5, 7)]
    waiting = [timeout(r, numel=1, line=20 + r, global_rank=r) for r in (0, 2)]
    (finding,) = findings(check, *loading, *waiting)
    assert finding.culprits == {4, 5, 7}
    between = [begun(Phase.LOAD, rank, line=rank) for rank in (1, 5)]
    (finding,) = findings(check, *between, *waiting)
    assert len(finding.culprits) == 1


def test_a_mark_that_those_who_wait_show_too_tells_nothing() -> None:
    """Its end is logged of nobody, so that it may be over on the rank that is awaited, too."""
    alarm = timeout(1, numel=1, global_rank=1, line=9, when=700)
    began = [begun(Phase.LOAD, rank, line=1 + rank, when=0) for rank in (0, 1)]
    assert strength(check, *began, alarm) is Strength.HINTS
    assert strength(check, began[0], alarm) is Strength.SUPPORTS
