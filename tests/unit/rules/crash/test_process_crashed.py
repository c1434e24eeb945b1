"""Crash signals."""

from __future__ import annotations

from dataclasses import replace

from support.builders import incident, source, timeout
from support.crashes import gone, killed_by_kernel, stopped
from support.job_text import judge_text
from unhang.model.causes import Cause
from unhang.model.events import Event, KernelProblem, Reporter
from unhang.model.finding import Finding, Strength
from unhang.rules.crash.process_crashed import check


def findings(*events: Event) -> list[Finding]:
    return list(check(incident(*events)))


def only(*events: Event) -> Finding:
    (finding,) = findings(*events)
    return finding


def test_a_segmentation_fault() -> None:
    finding = only(gone(3, signal=11), *(gone(r, signal=15) for r in (0, 1, 2)))
    assert (finding.cause, finding.strength) == (Cause.RANK_CRASH, Strength.SUPPORTS)
    assert finding.culprits == {3}


def test_a_signal_without_a_name_is_told_by_its_number() -> None:
    fault = replace(killed_by_kernel(41), problem=KernelProblem.SEGFAULT)
    finding = only(gone(3, signal=40, pid=41, line=2), fault)
    assert "signal 40" in finding.claim.values.values()


def test_all_crash_at_once() -> None:
    assert only(*(gone(r, signal=11, line=1 + r) for r in range(8))).culprits == frozenset()


def test_a_bare_abort_may_be_any_victim_s_end() -> None:
    assert only(gone(3, signal=6)).strength is Strength.HINTS


def test_an_abort_with_last_words() -> None:
    said = gone(3, signal=6, reporter=Reporter.SELF, line=1)
    assert only(said, gone(3, signal=6, line=2)).strength is Strength.SUPPORTS


def test_python_s_fault_handler_does_not_know_why_it_aborts() -> None:
    said = gone(3, signal=6, reporter=Reporter.SELF)
    told = replace(said, source=source(text="Fatal Python error: Aborted"))
    assert only(told).strength is Strength.HINTS


def test_an_abort_by_the_own_watchdog_is_no_crash() -> None:
    assert findings(timeout(3, global_rank=3, line=1), gone(3, signal=6, line=2)) == []


def test_a_crash_while_tearing_down() -> None:
    late = only(timeout(0, global_rank=0, when=1, line=1), gone(3, signal=11, when=9, line=2))
    assert late.strength is Strength.HINTS
    after = only(stopped(when=1, line=1), gone(3, signal=11, when=9, line=2))
    assert after.strength is Strength.HINTS


def test_a_bus_error_is_left_to_shared_memory() -> None:
    assert findings(gone(3, signal=7)) == []


def test_ordinary_exits_are_no_crashes() -> None:
    assert findings(gone(3, exit_code=1), gone(2, signal=15)) == []


def test_a_data_loader_s_process_that_crashed() -> None:
    worker = replace(gone(2, signal=11, reporter=Reporter.DATALOADER), worker=True)
    finding = only(worker)
    assert (finding.cause, finding.strength) == (Cause.RANK_CRASH, Strength.SUPPORTS)
    assert not findings(replace(worker, signal=9))
    assert only(stopped(line=1), replace(worker, source=source(2))).strength is Strength.HINTS


def thrown(what: str, *, apart: int) -> list[Finding]:
    """A process that aborts, and another that loses its peer some lines below."""
    lines = [
        "[1,7]<stderr>:terminate called after throwing an instance of 'std::system_error'",
        f"[1,7]<stderr>:  what():  {what}",
        *("[1,0]<stdout>:." for _ in range(apart)),
        "[1,3]<stderr>:RuntimeError: [/b/gloo/pair.cc:598] Connection closed by peer [10.0.0.3]:2",
    ]
    return judge_text(check, *lines)


def test_who_says_first_why_it_aborts_is_no_victim() -> None:
    (finding,) = thrown("Resource temporarily unavailable", apart=4)
    assert finding.strength is Strength.SUPPORTS
    (finding,) = thrown("Resource temporarily unavailable", apart=0)
    assert finding.strength is Strength.HINTS


def test_the_signal_that_a_hook_of_the_host_saw() -> None:
    abrt = "Dec  5 03:22:31 ws abrt-hook-ccpp: Process 41 (python3) of user 1 killed by SIGABRT -"
    lines = ["pid 41 local_rank 1 device cuda:1", "pid 40 local_rank 0 device cuda:0", abrt]
    (finding,) = judge_text(check, *lines)
    assert "SIGABRT" in finding.claim.values.values()
