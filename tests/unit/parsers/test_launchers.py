"""DeepSpeed, MPI and plain parents."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import (
    ClosingSignal,
    ProcessEnded,
    Reporter,
    StopKind,
    StopSeen,
    WorldSeen,
)
from unhang.parsers.launchers import LaunchersParser


def ended(*lines: str) -> ProcessEnded:
    return only(ProcessEnded, feed(LaunchersParser, *lines))


def test_deepspeed_kills_all_children_dead_or_alive() -> None:
    text = "[launch.py:319:sigkill_handler] Killing subprocess 411195"
    assert only(ClosingSignal, feed(LaunchersParser, text)).pid == 411195


def test_the_local_rank_in_deepspeed_s_report_is_only_the_last_child() -> None:
    event = ended(
        "[launch.py:325:sigkill_handler] ['python', '-u', 'train.py', '--local_rank=7'] exits "
        "with return code = -9"
    )
    assert (event.reporter, event.signal) == (Reporter.DEEPSPEED, 9)
    assert (event.rank, event.local_rank) == (None, None)


def test_the_list_of_a_report_may_be_wrapped() -> None:
    event = ended("eXJzIjogMTJ9'] exits with return code = -7")
    assert (event.reporter, event.signal) == (Reporter.DEEPSPEED, 7)


KILLING = "[launch.py:319:sigkill_handler] Killing subprocess {}"
REPORT = "[launch.py:325:sigkill_handler] ['python', '-u', 't.py', '--local_rank=2'] exits with "


def children(*pids: int) -> list[tuple[int | None, int | None]]:
    lines = [*map(KILLING.format, pids), f"{REPORT}return code = -7"]
    told = (e for e in feed(LaunchersParser, *lines) if isinstance(e, WorldSeen))
    return [(e.pid, e.local_rank) for e in told]


def test_the_list_of_deepspeed_s_children_counts_local_ranks_where_it_is_whole() -> None:
    assert children(70, 90, 80) == [(70, 0), (90, 1), (80, 2)]
    assert children(70, 90, 80, 70, 90, 80) == [(70, 0), (90, 1), (80, 2)]  # asked to stop twice
    assert children(90, 80) == []  # the beginning was cut off
    assert children(60, 70, 90, 80) == []


def test_deepspeed_over_several_nodes() -> None:
    event = ended("pdsh@node1: node2: ssh exited with exit code 1")
    assert (event.host, event.exit_code) == ("node2", 1)


@pytest.mark.parametrize(
    ("text", "pid", "signal", "code"),
    [
        ("ERROR:composer.cli.launcher:Rank 5 crashed with exit code -11.", None, 11, None),
        ("Global rank 5 (PID 4711) exited with code 1", 4711, None, 1),
    ],
)
def test_composer_names_the_rank(
    text: str, pid: int | None, signal: int | None, code: int | None
) -> None:
    event = ended(text)
    assert (event.reporter, event.rank) == (Reporter.COMPOSER, 5)
    assert (event.pid, event.signal, event.exit_code) == (pid, signal, code)


def test_an_end_behind_the_name_of_a_host() -> None:
    event = ended("x4006c0s6b0n0.hsn.example.gov: rank 256 died from signal 11")
    assert (event.rank, event.signal) == (256, 11)
    quoted = "results.2024.old.txt: rank 256 died from signal 11"
    assert not [e for e in feed(LaunchersParser, quoted) if isinstance(e, ProcessEnded)]


def test_deepspeed_is_interrupted() -> None:
    events = feed(LaunchersParser, "Main process received SIGINT, exiting")
    assert only(StopSeen, events).kind is StopKind.INTERRUPT


@pytest.mark.parametrize(
    ("tail", "signal", "code"),
    [
        ("returned non-zero exit status 1.", None, 1),
        ("died with <Signals.SIGKILL: 9>.", 9, None),
        ("returned non-zero exit status 137.", 9, None),
    ],
)
def test_a_parent_of_one_command(tail: str, signal: int | None, code: int | None) -> None:
    event = ended(f"subprocess.CalledProcessError: Command '['python', 't.py']' {tail}")
    assert (event.signal, event.exit_code) == (signal, code)


@pytest.mark.parametrize(
    ("text", "signal", "code"),
    [
        ("ValueError: Error for Training job x: Failed. Reason: Exit Code: 139", 11, None),
        ("svc.JobError: container main Failed (exit code: 3)", None, 3),
    ],
)
def test_a_client_is_told_by_its_service(text: str, signal: int | None, code: int | None) -> None:
    event = ended(text)
    assert (event.signal, event.exit_code) == (signal, code)


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: the job config failed to name an exit code",
        "RuntimeError: Error building extension: nvcc failed with exit code: 1",
        "training failed tests are skipped: exit code 3",
    ],
)
def test_a_code_that_is_no_end_of_the_job(text: str) -> None:
    assert not [e for e in feed(LaunchersParser, text) if isinstance(e, ProcessEnded)]


def test_open_mpi_notices_a_signal() -> None:
    event = ended(
        "mpirun noticed that process rank 5 with PID 4711 on node gpu07 exited on signal 9 "
        "(Killed)."
    )
    assert (event.task, event.pid, event.host, event.signal) == (5, 4711, "gpu07", 9)


def test_open_mpi_names_the_process_before_its_code() -> None:
    event = ended(
        "mpirun detected that one or more processes exited with non-zero status. The first was:",
        "  Process name: [[56473,1],3]",
        "  Exit code:    139",
    )
    assert (event.task, event.signal) == (3, 11)


def test_mpi_abort() -> None:
    event = ended(
        "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD", "with errorcode 42."
    )
    assert (event.task, event.exit_code) == (3, 42)


def test_an_abort_whose_code_is_cut_still_tells() -> None:
    assert ended("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD").task == 3


def test_mpich() -> None:
    event = ended(
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "=   RANK 2 PID 4711 RUNNING AT node1",
        "=   KILLED BY SIGNAL: 9 (Killed)",
    )
    assert (event.task, event.host, event.signal) == (2, "node1", 9)


def test_a_lost_daemon_is_a_lost_node() -> None:
    events = feed(LaunchersParser, "ORTE has lost communication with a remote daemon.")
    assert only(StopSeen, events).kind is StopKind.NODE_FAILED


@pytest.mark.parametrize("who", ["Rank", "rank", "Global rank", "process rank"])
@pytest.mark.parametrize("verb", ["exited", "died", "has terminated", "was killed", "crashed"])
@pytest.mark.parametrize(
    ("how", "signal", "code"),
    [
        (" with exit code 1", None, 1),
        (" with return code = -9", 9, None),
        (" (exit status: 137)", 9, None),
        (" by SIGSEGV", 11, None),
        (" on signal 6", 6, None),
    ],
)
def test_any_wording_of_an_end(
    who: str, verb: str, how: str, signal: int | None, code: int | None
) -> None:
    ended = only(ProcessEnded, feed(LaunchersParser, f"{who} 3 {verb}{how}"))
    assert (ended.rank, ended.signal, ended.exit_code) == (3, signal, code)


@pytest.mark.parametrize(
    "text",
    [
        "Worker process for rank 3 has exited unexpectedly with return code 139",
        "rank 3 pid 4711 terminated by signal SIGSEGV",
        "child 4711 (rank 3) died: exit status 139",
        "rank 3 exitcode: -11",
        "rank 3 -> exit code 139",
        "rank 3: return code=139",
        "Shard process was signaled to shutdown with signal 11 rank=3",
        "worker process crashed with code=-11 host=n2 rank=3",
    ],
)
def test_more_wordings_of_an_end(text: str) -> None:
    ended = only(ProcessEnded, feed(LaunchersParser, text))
    assert (ended.rank, ended.signal) == (3, 11)


@pytest.mark.parametrize(
    "text",
    [
        "the user asked in the forum why rank 3 exited with exit code 1",
        "Rank 3 exited with exit code 0",
        "prompt: rank 3 exited with exit code 1",
        "rank 3 finished 12 batches with status 200 OK and code review",
        "worker 3 returned 17 results",
        "Shard process shut down with status 0 rank=3",
        "worker status 11 rank=3",
    ],
)
def test_what_is_no_end(text: str) -> None:
    assert [e for e in feed(LaunchersParser, text) if isinstance(e, ProcessEnded)] == []
