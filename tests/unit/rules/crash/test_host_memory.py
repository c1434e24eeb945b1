"""Kills for host memory, reported and supposed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.builders import by, incident, source, timeout
from support.crashes import closing, gone, killed_by_kernel, raised, stopped, work
from unhang.model.causes import Cause
from unhang.model.events import (
    Event,
    ExceptionKind,
    HostMemoryUsed,
    MemoryKillsCounted,
    Reporter,
    StopKind,
)
from unhang.model.finding import Finding, Strength
from unhang.model.provenance import Origin
from unhang.rules.crash.host_memory import check


def findings(*events: Event) -> list[Finding]:
    return list(check(incident(*events)))


def only(*events: Event) -> Finding:
    (finding,) = findings(*events)
    return finding


def test_the_scheduler_says_so() -> None:
    finding = only(gone(3, signal=9, oom=True, reporter=Reporter.SLURM))
    assert (finding.cause, finding.strength) == (Cause.HOST_OOM, Strength.PROVES)
    assert finding.culprits == {3}


def test_what_the_cluster_answers_is_of_no_time() -> None:
    answer = replace(
        gone(3, signal=9, oom=True, reporter=Reporter.KUBERNETES, line=9), told_later=True
    )
    assert only(answer).strength is Strength.PROVES
    assert only(answer, timeout(0, line=1)).strength is Strength.SUPPORTS
    heard = replace(answer, told_later=False)
    assert only(heard, timeout(0, line=1)).strength is Strength.HINTS


def test_what_ray_kills_for_memory_it_may_start_again() -> None:
    """A count of killed tasks tells neither whom, nor that anything ended; what follows does."""
    kill = gone(None, signal=9, oom=True, reporter=Reporter.RAY)
    assert only(kill).strength is Strength.HINTS
    assert only(kill, timeout(0, line=9)).strength is not Strength.HINTS
    known = gone(None, signal=9, oom=True, pid=812, reporter=Reporter.RAY)
    assert only(known).strength is Strength.PROVES
    assert only(kill, raised(2, line=9)).strength is not Strength.HINTS


def test_the_kernel_kills_a_process_that_the_launcher_misses() -> None:
    finding = only(killed_by_kernel(4711), gone(2, signal=9, pid=4711))
    assert (finding.strength, finding.culprits) == (Strength.PROVES, frozenset({2}))


def test_the_kernel_kills_a_python_and_nothing_dates_it() -> None:
    assert only(killed_by_kernel(4711)).strength is Strength.SUPPORTS


def test_the_kernel_kills_a_python_when_the_others_begin_to_wait() -> None:
    waited = timeout(0, global_rank=0, when=700, line=9)
    assert only(killed_by_kernel(4711, when=95), waited).strength is Strength.PROVES


def test_the_kernel_killed_a_python_hours_before_the_wait() -> None:
    waited = timeout(0, global_rank=0, when=10_500, line=9)
    finding = only(killed_by_kernel(4711, when=95), waited)
    assert (finding.strength, finding.culprit_hosts) == (Strength.HINTS, frozenset())


def test_the_kernel_killed_a_python_and_the_work_went_on() -> None:
    on = [work(done, when=100 + done, line=done) for done in range(1, 5)]
    assert only(killed_by_kernel(4711, when=95), *on).strength is Strength.HINTS


def test_the_kernel_kills_another_program() -> None:
    assert only(killed_by_kernel(4711, "mysqld")).strength is Strength.HINTS


def test_the_kernel_kills_a_program_of_an_unusual_name_when_the_others_begin_to_wait() -> None:
    waited = timeout(0, global_rank=0, when=700, line=9)
    finding = only(killed_by_kernel(4711, "policy-actor", when=95), waited)
    assert finding.strength is Strength.SUPPORTS


def test_a_stranger_s_end_does_not_excuse_a_later_one() -> None:
    later = gone(3, signal=9, oom=True, reporter=Reporter.SLURM, when=5, line=5)
    finding = only(killed_by_kernel(88, "java", when=1), later)
    assert (finding.strength, finding.culprits) == (Strength.PROVES, frozenset({3}))


def test_a_failed_allocation() -> None:
    finding = only(raised(2, "MemoryError", kind=ExceptionKind.HOST_MEMORY))
    assert (finding.strength, finding.culprits) == (Strength.PROVES, frozenset({2}))


def test_a_bare_sigkill_tells_who_is_gone_and_asks_for_the_kernel_log() -> None:
    who, why = findings(gone(2, signal=9), gone(0, signal=15), gone(1, signal=15))
    assert (who.cause, who.strength, who.culprits) == (None, Strength.SUPPORTS, frozenset({2}))
    assert (why.cause, why.strength) == (Cause.HOST_OOM, Strength.HINTS)
    assert who.collect


@pytest.mark.parametrize(("count", "left"), [(0, [None]), (1, [None, Cause.HOST_OOM])])
def test_the_kernel_counted_its_kills_for_memory(count: int, left: list[Cause | None]) -> None:
    counted = MemoryKillsCounted(source=source(3), origin=Origin(), count=count)
    found = findings(gone(2, signal=9), counted)
    assert [f.cause for f in found] == left
    assert found[0].culprits == {2}


def test_sigkill_after_the_launcher_s_closing_signal_is_the_launcher_s() -> None:
    assert findings(closing(77, line=1), gone(2, signal=9, pid=77, line=2)) == []


def test_a_stop_before_it() -> None:
    finding = only(stopped(StopKind.CANCELLED, when=1, line=1), gone(2, signal=9, when=9, line=2))
    assert finding.strength is Strength.HINTS


def test_a_time_out_before_it() -> None:
    finding = only(timeout(0, global_rank=0, when=1, line=1), gone(2, signal=9, when=9, line=2))
    assert finding.strength is Strength.HINTS


@pytest.mark.parametrize(("share", "strength"), [(0.93, "supports"), (0.41, "hints")])
def test_a_kill_where_the_last_look_found_memory_full(share: float, strength: str) -> None:
    look = HostMemoryUsed(source=source(1), origin=by(), share=share)
    found = next(f for f in findings(look, gone(2, signal=9, line=9)) if f.cause is not None)
    assert found.strength == Strength(strength)


def test_the_rest_is_killed_after_one_left_with_an_error() -> None:
    finding = only(gone(0, exit_code=1, line=1), gone(1, signal=9, line=2))
    assert finding.strength is Strength.HINTS


def test_other_signals_are_not_memory() -> None:
    assert findings(gone(2, signal=11), gone(0, signal=15)) == []


def test_a_shell_that_saw_the_kill_first_is_no_earlier_failure() -> None:
    finding = only(
        gone(signal=9, reporter=Reporter.SHELL, line=1),
        gone(signal=9, oom=True, reporter=Reporter.SLURM, line=2),
    )
    assert finding.strength is Strength.PROVES


def test_a_parent_that_misses_its_helper_saw_the_same_kill() -> None:
    report = gone(signal=9, oom=True, reporter=Reporter.SLURM, line=9)
    helper = raised(name="RuntimeError", kind=ExceptionKind.HELPER, line=1)
    assert only(helper, report).strength is Strength.PROVES
    assert Cause.RANK_EXCEPTION in only(helper, report).explains
    assert only(raised(name="KeyError", line=1), report).strength is Strength.HINTS


def test_a_failed_allocation_that_the_work_outlived_is_none() -> None:
    failed = raised(name="MemoryError", kind=ExceptionKind.HOST_MEMORY, line=1)
    assert findings(failed, *(work(n, line=1 + n) for n in range(1, 5))) == []
