"""Data still being prepared at the time-out."""

from dataclasses import replace

import pytest

from support.builders import at, by, source, timeout
from support.job_text import incident_of
from support.phase_builders import bar, begun, findings, stack, strength
from unhang.model.causes import Cause
from unhang.model.events import (
    BarrierMissing,
    CollectiveTimeout,
    Event,
    ExceptionKind,
    Frame,
    PythonException,
    StopKind,
    StopSeen,
    StoreFault,
    StoreProblem,
    WorldSeen,
)
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase, PhaseEdge
from unhang.rules.slow.data_under_way import check


def unique_id_wait(line: int = 2) -> StoreFault:
    return StoreFault(
        source=source(line),
        origin=by(1),
        problem=StoreProblem.UNIQUE_ID_TIMED_OUT,
        waiter=Rank(1),
        owner=Rank(0),
        key="0",
    )


def raised(
    exception: str, line: int, *, kind: ExceptionKind = ExceptionKind.USER
) -> PythonException:
    return PythonException(
        source=source(line),
        origin=by(),
        kind=ExceptionKind.USER,
        exception=exception,
        message="",
        frames=(Frame(file="train.py", line=1, function="main"),),
    )


def test_a_bar_as_long_as_the_timeout_proves_it() -> None:
    (finding,) = findings(check, bar(Phase.DATA, elapsed_s=601), timeout(2, numel=1, line=2))
    assert finding.strength is Strength.PROVES
    assert finding.phase is Phase.DATA
    assert Cause.RENDEZVOUS in finding.explains


def test_earlier_bars_of_the_same_work_count_too() -> None:
    assert (
        strength(
            check,
            bar(Phase.DATA, done=100, elapsed_s=450),
            bar(Phase.DATA, elapsed_s=152, line=2),
            timeout(2, numel=1, line=3),
        )
        is Strength.PROVES
    )


def test_a_shorter_bar_before_a_barrier_supports_it() -> None:
    events = (bar(Phase.DATA, elapsed_s=152), timeout(2, seq=3, numel=1, line=2))
    assert strength(check, *events) is Strength.SUPPORTS


def test_the_waiting_rank_names_the_one_at_work() -> None:
    (finding,) = findings(check, begun(Phase.DATA, 0), unique_id_wait())
    assert finding.strength is Strength.PROVES
    assert finding.culprits == {0}


def test_nobody_signed_the_bar_but_the_wait_names_its_owner() -> None:
    (finding,) = findings(check, bar(Phase.DATA, elapsed_s=1_805), unique_id_wait())
    assert finding.strength is Strength.PROVES
    assert finding.culprits == {0}


def test_a_monitored_barrier_with_a_bar() -> None:
    missing = BarrierMissing(
        source=source(2), origin=by(3), reporter=Rank(3), missing=frozenset({Rank(0)}), direct=False
    )
    (finding,) = findings(check, bar(Phase.DATA, elapsed_s=24_000), missing)
    assert finding.strength is Strength.PROVES
    assert finding.culprits == {0}


def test_a_cut_traceback_behind_a_bar_at_a_default_timeout() -> None:
    events = (bar(Phase.DATA, elapsed_s=1_809), raised("", 2))
    assert strength(check, *events) is Strength.PROVES


def test_a_cut_traceback_behind_a_short_bar_says_little() -> None:
    assert strength(check, bar(Phase.DATA, elapsed_s=42), raised("", 2)) is Strength.HINTS


def test_a_cut_traceback_while_one_rank_alone_prepares() -> None:
    assert strength(check, begun(Phase.DATA, 0), raised("", 2)) is Strength.SUPPORTS


def test_an_exception_of_its_own_comes_first() -> None:
    events = (bar(Phase.DATA, elapsed_s=601), raised("KeyError", 2), timeout(2, numel=1, line=3))
    assert strength(check, *events) is Strength.HINTS


def test_an_exception_after_the_time_out_does_not_matter() -> None:
    events = (bar(Phase.DATA, elapsed_s=601), timeout(2, numel=1, line=2), raised("KeyError", 3))
    assert strength(check, *events) is Strength.PROVES


def test_a_stop_from_outside_comes_first() -> None:
    stop = StopSeen(source=source(2), origin=by(), kind=StopKind.INTERRUPT)
    events = (bar(Phase.DATA, elapsed_s=601), stop, timeout(2, numel=1, line=3))
    assert strength(check, *events) is Strength.HINTS


@pytest.mark.parametrize(
    "other",
    [timeout(3, op="BROADCAST", numel=1, line=3), timeout(3, numel=9_999, line=3)],
    ids=["other operation", "other size"],
)
def test_ranks_that_issue_different_calls_are_another_matter(other: CollectiveTimeout) -> None:
    events = (bar(Phase.DATA, elapsed_s=601), timeout(2, numel=1, line=2), other)
    assert strength(check, *events) is Strength.HINTS


def test_the_rank_at_work_is_not_the_one_that_waits() -> None:
    events = (bar(Phase.DATA, elapsed_s=152, rank=2), timeout(2, numel=1, line=2, global_rank=2))
    assert strength(check, *events) is Strength.HINTS


def test_a_mark_of_the_start_says_nothing_hundreds_of_collectives_later() -> None:
    events = (begun(Phase.DATA, framework="megatron"), timeout(2, seq=90_000, numel=1, line=2))
    assert strength(check, *events) is Strength.HINTS


def test_a_vague_mark_before_the_first_collective_says_little() -> None:
    assert strength(check, begun(Phase.DATA), timeout(2, seq=1, numel=1, line=2)) is Strength.HINTS


def test_a_frameworks_own_mark_before_a_barrier_supports_it() -> None:
    events = (begun(Phase.DATA, framework="megatron"), timeout(2, seq=3, numel=1, line=2))
    assert strength(check, *events) is Strength.SUPPORTS


def test_training_after_it_closes_it() -> None:
    events = (
        bar(Phase.DATA, elapsed_s=601),
        bar(Phase.TRAIN, elapsed_s=10, line=2),
        timeout(2, numel=1, line=3),
    )
    assert strength(check, *events) is None


def test_a_finished_bar_is_over() -> None:
    events = (bar(Phase.DATA, done=100, elapsed_s=601), timeout(2, numel=1, line=2))
    assert strength(check, *events) is None


def test_another_phase_begun_later_is_what_counts() -> None:
    events = (
        begun(Phase.DATA),
        begun(Phase.LOAD, line=2),
        timeout(2, seq=3, numel=1, line=3),
    )
    assert strength(check, *events) is None


def test_nobody_waits_nobody_is_late() -> None:
    assert strength(check, bar(Phase.DATA, elapsed_s=6_001)) is None


def test_a_mark_far_older_than_the_timeout_is_stale() -> None:
    events = (
        begun(Phase.DATA, framework="megatron", when=0),
        timeout(2, seq=3, numel=1, line=2, when=9_000),
    )
    assert strength(check, *events) is Strength.HINTS


def test_times_measure_a_mark() -> None:
    events = (
        begun(Phase.DATA, when=0),
        timeout(2, seq=3, numel=1, line=2, when=620),
    )
    assert strength(check, *events) is Strength.SUPPORTS


def test_an_end_mark_closes_it() -> None:
    events = (
        begun(Phase.DATA),
        begun(Phase.DATA, edge=PhaseEdge.END, line=2),
        timeout(2, numel=1, line=3),
    )
    assert strength(check, *events) is None


def test_the_time_of_the_finding_is_the_begin_of_the_work() -> None:
    (finding,) = findings(
        check, begun(Phase.DATA, when=5), timeout(2, seq=3, numel=1, line=2, when=620)
    )
    assert finding.at == at(5)


def test_training_that_goes_on_after_the_time_out_shows_no_harm() -> None:
    steps = (replace(bar(Phase.TRAIN, done=n, line=10 + n), at=at(700 + n)) for n in range(4))
    events: list[Event] = [
        bar(Phase.DATA, elapsed_s=601),
        timeout(2, numel=1, line=2, when=650),
        *steps,
    ]
    assert strength(check, *events) is Strength.HINTS


def test_a_stack_is_resolved_to_its_rank_by_the_pid() -> None:
    where = stack("torch/utils/data/dataloader.py:__next__", Phase.DATA, line=3)
    events = (
        WorldSeen(source=source(1), origin=by(2, pid=4711), rank=Rank(2), pid=4711),
        replace(where, origin=by(pid=4711)),
        timeout(0, line=4),
    )
    (finding,) = findings(check, *events)
    assert finding.strength is Strength.PROVES
    assert finding.culprits == {2}


def test_a_rank_that_waits_by_its_stack_has_done_its_loading() -> None:
    """All have printed that they load, one after the other; one still does."""
    lines = [
        f"2026-11-21 10:54:48,78{rank} [rank{rank}] loading dataset shard data/part-{rank}.npy"
        for rank in (0, 2, 1, 3)
    ]
    head = "Current thread 0x00007f2ec77fe6c0 (most recent call first):\n"
    waits = head + (
        '  File "/x/site-packages/torch/distributed/distributed_c10d.py", line 4287 in all_gather\n'
        '  File "train.py", line 67 in train\n'
    )
    loads = head + '  File "train.py", line 52 in load_shard\n  File "train.py", line 60 in train\n'
    stacks = {f"run/dumps/1/stack_{r}.txt": loads if r == 1 else waits for r in range(4)}
    job = incident_of(*lines, **stacks)
    (finding,) = check.check(job)
    assert finding.culprits == {1}
