"""An evaluation still running at the time-out."""

from dataclasses import replace

from support.builders import by, source, timeout
from support.phase_builders import bar, begun, findings, strength
from unhang.model.events import Event, HoldUp, Progress, Stage, SuspicionReason
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase, PhaseEdge
from unhang.rules.slow.evaluation_under_way import check


def test_a_bar_as_long_as_the_timeout_while_the_others_gather() -> None:
    events = (bar(Phase.EVAL, elapsed_s=605), timeout(4, op="ALLGATHER", numel=65_536, line=2))
    assert strength(check, *events) is Strength.PROVES


def test_an_evaluation_began_and_the_others_wait_in_a_barrier() -> None:
    events = (begun(Phase.EVAL), timeout(4, seq=70_000, op="BROADCAST", numel=1, line=2))
    assert strength(check, *events) is Strength.SUPPORTS


def test_times_fit_and_the_others_are_in_the_next_step() -> None:
    events = (
        begun(Phase.EVAL, when=0),
        timeout(4, op="ALLGATHER", numel=65_536, line=2, when=630),
    )
    assert strength(check, *events) is Strength.SUPPORTS


def test_a_bar_that_stood_still_long_before_hung_itself() -> None:
    events = (bar(Phase.EVAL, elapsed_s=41), timeout(4, numel=1, line=2))
    assert strength(check, *events) is Strength.HINTS


def test_an_announced_evaluation_whose_bar_is_full_was_done() -> None:
    events = (
        begun(Phase.EVAL),
        bar(None, done=50, total=50, elapsed_s=700, line=2),
        timeout(4, numel=1, line=3),
    )
    assert strength(check, *events) is Strength.HINTS


def test_generation_counts_too() -> None:
    events = (bar(Phase.GENERATE, elapsed_s=1_000), timeout(4, numel=1, line=2))
    assert strength(check, *events) is Strength.PROVES


def test_an_evaluation_that_ended_is_over() -> None:
    events = (
        begun(Phase.EVAL),
        begun(Phase.EVAL, edge=PhaseEdge.END, line=2),
        timeout(4, numel=1, line=3),
    )
    assert strength(check, *events) is None


def test_a_barrier_alone_has_no_phase() -> None:
    assert strength(check, timeout(4, numel=1)) is None


def test_the_only_rank_that_does_not_wait_evaluates() -> None:
    events: list[Event] = [
        begun(Phase.EVAL),
        *(timeout(r, op="ALLGATHER", numel=65_536, line=r + 1) for r in range(1, 4)),
    ]
    (finding,) = findings(check, *events)
    assert finding.strength is Strength.SUPPORTS
    assert finding.culprits == {0}


def test_a_first_batch_that_never_ended_hung() -> None:
    events = (bar(Phase.EVAL, done=0, elapsed_s=0), timeout(4, numel=1, line=2))
    assert strength(check, *events) is Strength.HINTS


def test_a_slow_item_may_be_what_it_was_at() -> None:
    events = (bar(Phase.EVAL, done=1, elapsed_s=400), timeout(4, numel=1, line=2))
    assert strength(check, *events) is Strength.SUPPORTS


def test_an_evaluation_that_goes_on_after_the_time_out_works() -> None:
    events = (
        bar(Phase.EVAL, elapsed_s=300),
        timeout(4, numel=1, line=2),
        bar(Phase.EVAL, done=60, elapsed_s=340, line=3),
    )
    assert strength(check, *events) is Strength.SUPPORTS


def test_an_evaluation_that_goes_on_explains_a_wait_for_gradients_too() -> None:
    after = begun(Phase.EVAL, edge=PhaseEdge.DURING, line=3)
    waits = timeout(1, numel=65_536, line=2)
    assert strength(check, begun(Phase.EVAL), waits, after) is Strength.SUPPORTS
    assert strength(check, begun(Phase.EVAL), waits) is Strength.HINTS
    assert strength(check, begun(Phase.EVAL, rank=1), waits, after) is Strength.HINTS


def test_an_evaluation_that_began_after_the_time_out_is_no_reason() -> None:
    events = (timeout(4, numel=1), begun(Phase.EVAL, line=2))
    assert strength(check, *events) is None


def test_without_sizes_a_broadcast_awaits_the_rank_that_alone_evaluates() -> None:
    waits = [timeout(r, op="BROADCAST", numel=None, line=r + 1) for r in (2, 5)]
    assert strength(check, begun(Phase.EVAL, rank=0), *waits) is Strength.SUPPORTS


def test_without_sizes_a_reduction_may_be_of_gradients() -> None:
    waits = [timeout(r, op="ALLREDUCE", numel=None, line=r + 1) for r in (2, 5)]
    assert strength(check, begun(Phase.EVAL, rank=0), *waits) is Strength.HINTS


def test_a_rank_that_was_seen_stopped_did_not_evaluate_for_long() -> None:
    events = (begun(Phase.EVAL), timeout(4, seq=70_000, op="BROADCAST", numel=1, line=2))
    for charge, quiet in (
        (SuspicionReason.STOPPED, True),
        (SuspicionReason.GONE, True),
        (SuspicionReason.ASLEEP, False),
    ):
        seen = HoldUp(
            source=source(3),
            origin=by(),
            charge=charge,
            stage=Stage.CONFIRMED,
            culprits=frozenset({Rank(0)}),
            victims=frozenset({Rank(4)}),
        )
        assert (strength(check, *events, seen) is None) is quiet


def test_a_full_bar_of_one_item_among_many_is_not_the_end() -> None:
    def item(number: int, done: int, line: int) -> Progress:
        label = f"sample {number}/40"
        return replace(bar(Phase.EVAL, done=done, total=30, elapsed_s=14, line=line), label=label)

    waiting: list[Event] = [timeout(rank, numel=4_096, line=3, when=640) for rank in (1, 2, 3)]
    events: tuple[Event, ...] = (begun(Phase.EVAL, when=0), item(12, 30, 2), *waiting)
    assert strength(check, *events) is not Strength.HINTS
    assert strength(check, begun(Phase.EVAL, when=0), item(40, 30, 2), *waiting) is Strength.HINTS
