"""Failures: one for each process, told by the earliest event that says how."""

from dataclasses import replace

from support.builders import at, by, ended, incident, source, timeout
from unhang.model.events import (
    ClosingSignal,
    DeviceFault,
    DeviceProblem,
    ExceptionKind,
    Frame,
    KernelEvent,
    KernelProblem,
    PythonException,
    Reporter,
    StackKind,
    ThreadStack,
    WorldSeen,
)
from unhang.model.incident import Manner


def raised(
    rank: int | None,
    kind: ExceptionKind = ExceptionKind.USER,
    name: str = "ValueError",
    *,
    when: float | None = None,
    line: int = 1,
    chained: bool = False,
) -> PythonException:
    return PythonException(
        source=source(line),
        origin=by(rank),
        at=None if when is None else at(when),
        kind=kind,
        exception=name,
        message="…",
        chained=chained,
    )


def test_an_exception_and_its_exit_code_are_one_failure() -> None:
    found = incident(raised(2), ended(2, exit_code=1, line=9))
    (failure,) = found.failures
    assert failure.manner is Manner.RAISED
    assert failure.rank == 2
    assert failure.exit_code == 1


def test_the_exit_dates_an_exception_without_a_time() -> None:
    found = incident(raised(1, when=0, line=1), raised(2, line=2), ended(2, exit_code=1, when=90))
    assert [f.at for f in found.failures if f.rank == 2] == [at(90)]


def test_a_signal_by_others_does_not_date_it() -> None:
    found = incident(raised(1, when=0, line=1), raised(2, line=2), ended(2, signal=15, when=90))
    assert [f.at for f in found.failures if f.rank == 2] == [at(0)]


def test_sigabrt_after_the_own_watchdog_is_a_victim() -> None:
    found = incident(timeout(0), ended(0, signal=6, line=5))
    assert [f.manner for f in found.failures] == [Manner.WATCHDOG]
    assert found.own_failures == ()


def test_sigabrt_without_a_watchdog_is_a_crash() -> None:
    found = incident(ended(0, signal=6))
    assert found.failures[0].manner is Manner.CRASHED


def test_sigterm_is_the_launchers() -> None:
    found = incident(ended(1, signal=15), ended(2, signal=11))
    by_rank = {f.rank: f.manner for f in found.failures}
    assert by_rank == {1: Manner.CLOSED, 2: Manner.CRASHED}


def test_sigkill_after_a_closing_signal_is_the_launchers() -> None:
    closing = ClosingSignal(source=source(), origin=by(), pid=41, signal=15)
    found = incident(raised(0), closing, ended(1, signal=9, pid=41, line=4))
    assert {f.rank: f.manner for f in found.failures if f.rank == 1} == {1: Manner.CLOSED}


def test_the_kernels_oom_killer_explains_sigkill_by_pid() -> None:
    kill = KernelEvent(source=source(), origin=by(), problem=KernelProblem.OOM_KILL, pid=77)
    found = incident(kill, ended(3, signal=9, pid=77))
    assert any(f.manner is Manner.HOST_OOM for f in found.failures)


def test_failures_are_ordered_by_time_and_not_by_line() -> None:
    found = incident(raised(0, when=50, line=1), raised(1, when=10, line=2))
    assert [f.rank for f in found.failures] == [1, 0]


def test_the_out_of_memory_inside_an_exception_tells_more_than_the_exception() -> None:
    fault = DeviceFault(source=source(3), origin=by(4), problem=DeviceProblem.OUT_OF_MEMORY)
    found = incident(raised(4, name="RuntimeError"), fault)
    (failure,) = found.failures
    assert failure.manner is Manner.GPU_OOM


def test_a_nameless_traceback_belongs_to_the_only_process_that_left() -> None:
    found = incident(raised(None), ended(6, exit_code=1, line=30), ended(7, signal=15, line=31))
    (own,) = found.own_failures
    assert own.rank == 6
    assert own.manner is Manner.RAISED


def test_a_nameless_traceback_is_not_given_to_one_of_two() -> None:
    found = incident(raised(None), ended(6, exit_code=1, line=30), ended(7, exit_code=1, line=31))
    assert sorted(f.rank is None for f in found.own_failures) == [False, False, True]


def test_errors_that_another_rank_caused_are_second_hand() -> None:
    found = incident(raised(5, ExceptionKind.COLLECTIVE, "DistBackendError"))
    assert found.failures[0].manner is Manner.PEER
    assert found.own_failures == ()


def test_a_crash_of_another_program_in_the_kernel_log_is_none_of_the_job_s() -> None:
    def crash(process: str) -> KernelEvent:
        return KernelEvent(
            source=source(1, "dmesg.log"),
            origin=by(),
            problem=KernelProblem.SEGFAULT,
            pid=4711,
            process=process,
        )

    assert incident(crash("snapd")).failures == ()
    assert [f.manner for f in incident(crash("python3")).failures] == [Manner.CRASHED]


def test_while_all_ranks_live_an_end_in_the_kernel_log_is_hardly_the_job_s() -> None:
    def ended_by_kernel(process: str, problem: KernelProblem, pid: int = 4711) -> KernelEvent:
        log = source(1, "dmesg.log")
        return KernelEvent(source=log, origin=by(), problem=problem, pid=pid, process=process)

    def stands(rank: int, *, aborted: bool = False) -> ThreadStack:
        frame = Frame(file="train.py", line=7, function="step")
        return ThreadStack(
            source=source(1),
            origin=by(rank, pid=100 + rank),
            kind=StackKind.PYTHON,
            frames=(frame,),
            main=True,
            aborted=aborted,
        )

    size = WorldSeen(source=source(1), origin=by(), world_size=2)
    segfault, oom = KernelProblem.SEGFAULT, KernelProblem.OOM_KILL
    both = (size, stands(0), stands(1))
    assert incident(ended_by_kernel("mysqld", oom), *both).failures == ()
    assert incident(ended_by_kernel("python3", segfault), *both).failures == ()
    beside = incident(ended_by_kernel("mysqld", oom), size, stands(0))
    assert (len(beside.failures), len(beside.strangers)) == (0, 1)
    for told in (
        (ended_by_kernel("python3", segfault), size, stands(0), stands(1, aborted=True)),
        (ended_by_kernel("python3", segfault, pid=101), *both),
        (ended_by_kernel("python3", oom), *both),
    ):
        assert len(incident(*told).failures) == 1


def test_a_launcher_that_counts_nobody_tells_of_the_same_end() -> None:
    own = replace(ended(None, signal=7, line=3), reporter=Reporter.SELF, pid=71)
    bare = replace(ended(None, signal=7, line=9), reporter=Reporter.DEEPSPEED)
    closed = [
        ClosingSignal(source=source(line), origin=by(), pid=pid, signal=15)
        for line, pid in enumerate((70, 71, 72), start=4)
    ]
    found = incident(own, *closed, bare)
    (crashed,) = (f for f in found.failures if f.manner is Manner.CRASHED)
    assert (crashed.pid, crashed.signal) == (71, 7)
    # Two processes of which one may be meant: it stays nobody's.
    other = replace(ended(None, signal=7, line=8), reporter=Reporter.SELF, pid=72)
    assert sum(f.manner is Manner.CRASHED for f in incident(own, other, bare).failures) == 3


def test_a_crash_after_the_launcher_closed_it_is_no_cause() -> None:
    own = replace(ended(None, signal=11, line=9), reporter=Reporter.SELF, pid=71)
    closed = ClosingSignal(source=source(4), origin=by(), pid=71, signal=15)
    assert [f.manner for f in incident(closed, own).failures] == [Manner.CLOSED]
