"""Slurm, PBS and LSF."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import ClosingSignal, ProcessEnded, StopKind, StopSeen
from unhang.model.time import Clock
from unhang.parsers.slurm import SlurmParser


@pytest.mark.parametrize(
    ("text", "tasks", "signal", "code", "oom"),
    [
        ("srun: error: node07: task 3: Killed", [3], 9, None, False),
        (
            "srun: error: node07: tasks 0-3,5: Exited with exit code 1",
            [0, 1, 2, 3, 5],
            None,
            1,
            False,
        ),
        ("srun: error: node07: tasks 0-1: Aborted (core dumped)", [0, 1], 6, None, False),
        ("srun: error: node07: task 2: Segmentation fault", [2], 11, None, False),
        ("srun: error: node07: task 0: Out Of Memory", [0], 9, None, True),
        ("srun: error: node07: task 0: Exited with exit code 137", [0], 9, None, False),
    ],
)
def test_tasks(
    text: str, tasks: list[int], signal: int | None, code: int | None, oom: bool
) -> None:
    found = [e for e in feed(SlurmParser, text) if isinstance(e, ProcessEnded)]
    assert [e.task for e in found] == tasks
    assert {(e.host, e.signal, e.exit_code, e.oom) for e in found} == {
        ("node07", signal, code, oom)
    }


def test_a_terminated_task_is_a_victim() -> None:
    events = feed(SlurmParser, "srun: error: node07: task 0: Terminated")
    assert only(ClosingSignal, events).signal == 15


@pytest.mark.parametrize(
    "text",
    [
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4711.0. Some of your processes",
        "slurmstepd: error: Detected 2 oom_kill events in StepId=4711.batch.",
    ],
)
def test_oom_kill(text: str) -> None:
    assert only(ProcessEnded, feed(SlurmParser, text)).oom


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        ("", StopKind.CANCELLED),
        (" DUE TO TIME LIMIT", StopKind.TIME_LIMIT),
        (" DUE TO PREEMPTION", StopKind.PREEMPTED),
        (" DUE TO JOB REQUEUE", StopKind.PREEMPTED),
        (" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", StopKind.NODE_FAILED),
    ],
)
def test_cancellations(why: str, kind: StopKind) -> None:
    text = f"slurmstepd: error: *** STEP 47.0 ON node07 CANCELLED AT 2026-05-01T05:42:27{why} ***"
    event = only(StopSeen, feed(SlurmParser, text))
    assert event.kind is kind
    assert event.at is not None
    assert event.at.clock is Clock.LOCAL


@pytest.mark.parametrize(
    "text",
    [
        "slurmstepd: error: _is_a_lwp: open() /proc/4711/status failed: No such file or directory",
        "srun: error: Job step's nodes are busy",
        "srun: job 4711 queued and waiting for resources",
    ],
)
def test_noise(text: str) -> None:
    assert feed(SlurmParser, text) == []


def test_a_failed_node() -> None:
    events = feed(SlurmParser, "srun: error: Node failure on node07")
    assert only(StopSeen, events).kind is StopKind.NODE_FAILED


def test_an_absurd_range_of_tasks_is_bounded() -> None:
    events = feed(SlurmParser, "srun: error: n: tasks 0-9999999: Killed")
    assert len(events) <= 4097


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("=>> PBS: job killed: walltime 86431 exceeded limit 86400", StopKind.TIME_LIMIT),
        ("TERM_RUNLIMIT: job killed after reaching LSF run time limit.", StopKind.TIME_LIMIT),
        ("TERM_OWNER: job killed by owner.", StopKind.CANCELLED),
    ],
)
def test_other_batch_systems(text: str, kind: StopKind) -> None:
    assert only(StopSeen, feed(SlurmParser, text)).kind is kind


def test_memory_limits_of_other_batch_systems() -> None:
    text = "=>> PBS: job killed: mem 269484032kb exceeded limit 268435456kb"
    assert only(ProcessEnded, feed(SlurmParser, text)).oom
