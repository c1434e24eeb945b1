"""Ray's death reports."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import ProcessEnded, StopKind, StopSeen
from unhang.parsers.ray_actors import RayActorsParser

BOILERPLATE = (
    "Worker exit detail: Worker unexpectedly exits with a connection error code 2. There are some "
    "potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory "
    "usage. (2) ray stop --force is called."
)


def test_a_report_on_one_line() -> None:
    event = only(
        ProcessEnded,
        feed(
            RayActorsParser,
            "A worker died or was killed. Worker IP address: 10.0.0.2 Worker port: 10007 Worker "
            f"PID: 830 Worker exit type: SYSTEM_ERROR {BOILERPLATE}",
        ),
    )
    assert (event.pid, event.host, event.exit_code) == (830, "10.0.0.2", 1)
    assert not event.oom


def test_a_report_over_lines() -> None:
    event = only(
        ProcessEnded,
        feed(
            RayActorsParser,
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this "
            "task.",
            "\tclass_name: WorkerDict",
            "\tpid: 830",
            "\tip: 10.0.0.2",
        ),
    )
    assert (event.pid, event.host) == (830, "10.0.0.2")


def test_memory_pressure() -> None:
    text = "Task was killed due to the node running low on memory."
    event = only(ProcessEnded, feed(RayActorsParser, text))
    assert (event.oom, event.signal) == (True, 9)


def test_an_intended_exit_is_no_failure() -> None:
    assert feed(RayActorsParser, "Worker PID: 830 Worker exit type: INTENDED_USER_EXIT") == []


def test_a_dead_node() -> None:
    text = (
        "The node with node id: 1f2e and address: 10.0.0.2 and node name: 10.0.0.2 has been "
        "marked dead because the detector has missed too many heartbeats from it."
    )
    assert only(StopSeen, feed(RayActorsParser, text)).kind is StopKind.NODE_FAILED


def test_a_dead_node_is_not_the_one_that_says_so() -> None:
    text = (
        "head1: The node with node id: 1f2e and address: 10.0.0.2 and node name: 10.0.0.2 has "
        "been marked dead because the detector has missed too many heartbeats from it."
    )
    assert only(StopSeen, feed(RayActorsParser, text)).origin.host == "10.0.0.2"


@pytest.mark.parametrize(("name", "rank"), [("aBcWorkerDict_0:5", 5), ("aBcWorkerDict_1:5", None)])
def test_who_was_killed_by_its_name(name: str, rank: int | None) -> None:
    """Ranks of the first node are its local ones; of the others nothing tells the first."""
    text = (
        "Memory on the node (IP: 10.0.0.7, ID: 5f67) where the task (actor ID: c0, "
        f"name={name}, pid=883, memory used=61.84GB) was running was 957.6GB / 1007.5GB (0.95), "
        "which exceeds the memory usage threshold of 0.95."
    )
    event = only(ProcessEnded, feed(RayActorsParser, text))
    assert (event.rank, event.local_rank, event.pid, event.host) == (rank, 5, 883, "10.0.0.7")
