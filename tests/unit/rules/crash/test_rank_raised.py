"""Exceptions of ranks: causes, echoes, and faults of everybody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.builders import ended, incident, timeout
from support.crashes import device_fault, gone, raised, stopped, store, work
from unhang.api import diagnose
from unhang.model.causes import Cause
from unhang.model.events import Event, ExceptionKind, Reporter, StopKind, StoreProblem
from unhang.model.finding import Finding, Strength
from unhang.rules.crash.rank_raised import check


def findings(*events: Event) -> list[Finding]:
    return list(check(incident(*events)))


def only(*events: Event) -> Finding:
    (finding,) = findings(*events)
    return finding


def test_one_rank_raised_and_the_others_waited_one_timeout() -> None:
    finding = only(
        raised(3, when=100, line=1),
        *(timeout(r, global_rank=r, when=701, line=2 + r) for r in (0, 1, 2)),
    )
    assert (finding.cause, finding.strength) == (Cause.RANK_EXCEPTION, Strength.PROVES)
    assert finding.culprits == {3}
    assert Cause.RENDEZVOUS in finding.explains


def test_time_outranks_the_order_of_lines() -> None:
    finding = only(
        *(timeout(r, global_rank=r, when=701, line=1 + r) for r in (0, 1)),
        raised(2, when=100, line=9),
    )
    assert finding.strength is Strength.PROVES
    assert finding.culprits == {2}


def test_an_exception_after_the_first_time_out_is_only_a_hint() -> None:
    finding = only(timeout(0, global_rank=0, when=700, line=1), raised(3, when=705, line=2))
    assert finding.strength is Strength.HINTS
    assert finding.explains == frozenset()


def test_the_same_exception_on_all_ranks_accuses_nobody() -> None:
    finding = only(*(raised(r, "KeyError", line=1 + r) for r in range(8)))
    assert finding.strength is Strength.PROVES
    assert finding.culprits == frozenset()


def test_tracebacks_that_name_nobody_accuse_nobody() -> None:
    finding = only(*(raised(None, "KeyError", line=n) for n in (1, 50, 99)))
    assert finding.culprits == frozenset()


def test_a_second_print_without_a_name_is_the_same_failure() -> None:
    finding = only(raised(3, "KeyError", line=9), raised(None, "KeyError", line=1))
    assert finding.culprits == {3}


def test_one_exit_code_does_not_own_the_tracebacks_of_all() -> None:
    finding = only(
        *(raised(None, "KeyError", line=n) for n in (1, 5, 9, 13)),
        gone(0, exit_code=1, line=20),
    )
    assert finding.culprits == frozenset()


def test_some_of_many_ranks_are_named() -> None:
    finding = only(
        raised(6, when=100, line=1),
        raised(7, when=100, line=2),
        *(timeout(r, global_rank=r, when=701, line=3 + r) for r in range(6)),
    )
    assert finding.culprits == {6, 7}


def test_second_hand_exceptions_are_no_cause() -> None:
    kinds = (
        ExceptionKind.COLLECTIVE,
        ExceptionKind.RENDEZVOUS,
        ExceptionKind.CHILD,
        ExceptionKind.INTERRUPTED,
        ExceptionKind.MISMATCH,
        ExceptionKind.WORKER,
    )
    assert findings(*(raised(r, kind=kind, line=1 + r) for r, kind in enumerate(kinds))) == []


def test_a_logged_exception_is_no_cause() -> None:
    assert findings(raised(3, handled=True)) == []


def test_work_that_goes_on_shows_that_nothing_ended() -> None:
    bars = [work(n, line=10 + n) for n in (1, 2, 3)]
    assert findings(raised(None, line=1), *bars) == []


def test_work_of_another_rank_shows_nothing() -> None:
    bars = [work(n, line=10 + n, rank=0) for n in (1, 2, 3)]
    assert only(raised(3, line=1), *bars).culprits == {3}


def test_an_error_exit_shows_that_something_did_end() -> None:
    bars = [work(n, line=10 + n) for n in (1, 2, 3)]
    finding = only(raised(None, line=1), *bars, gone(2, exit_code=1, line=20))
    assert finding.strength is Strength.PROVES


def test_one_bar_from_a_buffer_shows_nothing() -> None:
    assert only(raised(None, line=1), work(1, line=10)).strength is Strength.PROVES


def test_after_a_stop_it_is_an_echo() -> None:
    finding = only(stopped(StopKind.INTERRUPT, when=10, line=1), raised(3, when=12, line=2))
    assert finding.strength is Strength.HINTS


def test_after_another_failure_it_is_an_echo() -> None:
    finding = only(device_fault(1, when=10, line=1), raised(3, when=20, line=2))
    assert finding.strength is Strength.HINTS


def test_after_ranks_failed_to_meet_it_is_an_echo() -> None:
    finding = only(
        store(StoreProblem.CONNECT_TIMED_OUT, when=10, line=1), raised(3, when=20, line=2)
    )
    assert finding.strength is Strength.HINTS


def test_a_closed_store_before_it_is_no_reason_to_doubt() -> None:
    finding = only(store(StoreProblem.PEER_CLOSED, line=1), raised(3, line=2))
    assert finding.strength is Strength.PROVES


def test_a_helper_thread_with_others_waiting() -> None:
    waiting = [timeout(r, global_rank=r, when=701, line=3 + r) for r in (0, 1)]
    finding = only(raised(2, thread="Thread-3", when=100, line=1), *waiting)
    assert finding.strength is Strength.SUPPORTS


def test_a_helper_thread_alone_ended_nothing() -> None:
    assert only(raised(2, thread="NetStatThr")).strength is Strength.HINTS


def test_a_rank_that_joined_the_stuck_call() -> None:
    finding = only(raised(0, when=100, line=1), timeout(0, global_rank=0, when=701, line=2))
    assert finding.strength is Strength.HINTS


def test_a_cut_traceback_may_be_any_error() -> None:
    assert only(raised(1, "")).strength is Strength.HINTS
    assert only(raised(None, "")).strength is Strength.HINTS


def test_a_cut_traceback_of_a_rank_that_others_lost() -> None:
    lost = store(StoreProblem.PEER_CLOSED, rank=2, line=9)
    assert only(raised(1, "", line=1), lost).strength is Strength.SUPPORTS
    assert only(raised(None, "", line=1), lost).strength is Strength.HINTS
    waited = raised(2, "RuntimeError", kind=ExceptionKind.COLLECTIVE, line=9)
    assert only(raised(1, "", line=1), waited).strength is Strength.HINTS


def test_a_library_of_another_build_is_no_fault_of_the_program() -> None:
    assert findings(raised(1, "ImportError", kind=ExceptionKind.LIBRARY)) == []


def test_a_launcher_s_exit_of_the_same_rank_is_the_same_failure() -> None:
    finding = only(raised(3, line=1), ended(3, exit_code=1, line=9), ended(0, signal=15, line=10))
    assert finding.culprits == {3}


def test_nothing_is_said_of_a_crash() -> None:
    assert findings(gone(3, signal=11, reporter=Reporter.ELASTIC)) == []


def test_an_error_that_comes_and_goes_is_caught_by_the_program() -> None:
    caught: list[Event] = []
    for turn in range(5):
        line = 10 * turn
        caught.append(raised(innermost="data.py", line=line + 1))
        caught += [work(line + n, line=line + n) for n in range(2, 6)]
    last = raised(innermost="data.py", line=90)
    assert findings(*caught, last) == []
    other = raised(innermost="model.py", line=91)
    assert [f.evidence[0].line for f in findings(*caught, last, other)] == [91]


@pytest.mark.parametrize(("words", "caught"), [("bad", True), ("worse", False)])
def test_without_a_traceback_the_words_tell_what_comes_and_goes(words: str, caught: bool) -> None:
    seen: list[Event] = []
    for line in range(0, 50, 10):
        seen.append(raised(line=line + 1))
        seen += [work(line + n, line=line + n) for n in range(2, 6)]
    assert (findings(*seen, replace(raised(line=90), message=words)) == []) is caught


def test_one_error_of_several_processes_is_not_caught() -> None:
    every = [raised(innermost="data.py", line=n) for n in range(1, 9)]
    assert len(findings(*every)) == 1


def test_the_others_began_to_wait_a_day_after_it() -> None:
    finding = only(raised(3, when=100, line=1), timeout(0, global_rank=0, when=90_000, line=2))
    assert finding.strength is Strength.HINTS


def test_the_time_above_an_undated_traceback_says_little() -> None:
    """A bar of a day has no times, and the traceback below it has none either."""
    finding = only(
        work(7, when=100, line=1),
        raised(3, line=2),
        timeout(0, global_rank=0, when=90_000, line=3),
    )
    assert finding.strength is Strength.PROVES


def test_an_error_its_chain_and_its_parents_print_are_of_one_process(tmp_path: Path) -> None:
    frame = '  File "/w/fit.py", line 70, in loop\n'
    (tmp_path / "out.log").write_text(
        "Command Line Args: Namespace(eval_only=False, machine_rank=0, num_gpus=4, opts=[])\n"
        "[05/11 10:00:31 detectron2]: Rank of current process: 0. World size: 4\n"
        f"Traceback (most recent call last):\n{frame}RuntimeError: no message\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        f"Traceback (most recent call last):\n{frame}RuntimeError: the queue is broken\n\n"
        "-- Process 2 terminated with the following error:\n"
        f"Traceback (most recent call last):\n{frame}RuntimeError: the queue is broken\n"
    )
    found = diagnose(str(tmp_path / "out.log"))
    assert found.cause is Cause.RANK_EXCEPTION
    assert found.culprits == {2}
