"""Tables and lists of ranks, in forms that no program need have printed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.feeding import feed, only
from unhang.model.events import BarrierMissing, ProcessEnded
from unhang.parsers.roll_call import RollCallParser

AXES = st.sampled_from(["rank", "Rank", "RANK", "global rank"])
EXITS = st.sampled_from(["exit code", "exitcode", "status", "rc", "return code", "signal"])
JOINTS = st.sampled_from([" | ", "  ", "\t", ",", " │ "])
WORDS = st.sampled_from(["{}", "exit {}", "exited with code {}", "({})"])


def ends(*lines: str) -> dict[int, tuple[int | None, int | None]]:
    found = [e for e in feed(RollCallParser, *lines) if isinstance(e, ProcessEnded)]
    return {int(e.rank): (e.signal, e.exit_code) for e in found if e.rank is not None}


@settings(deadline=None)
@given(AXES, EXITS, JOINTS, st.integers(0, 7), st.sampled_from(["host", "loss", "step"]))
def test_a_table_of_any_make(axis: str, exits: str, joint: str, dead: int, other: str) -> None:
    head = joint.join([axis, other, exits])
    rows = [joint.join([str(r), "x1", "-9" if r == dead else "0"]) for r in range(8)]
    assert ends(head, "-" * 30, *rows) == {dead: (9, None)}


@pytest.mark.parametrize(
    "line",
    [
        "exit codes by rank: [0, 0, 0, -9]",
        "return codes per rank = [0, 0, 0, 137]",
        "exit codes by rank: {0: 0, 1: 0, 3: -9}",
    ],
)
def test_a_list_in_the_order_of_ranks(line: str) -> None:
    assert ends(line) == {3: (9, None)}


def test_words_in_the_cells() -> None:
    rows = ["| 0 | running |", "| 1 | exited with code 1 |", "| 2 | SIGSEGV |", "| 3 | OK |"]
    assert ends("| rank | status |", "|------|--------|", *rows) == {1: (None, 1), 2: (11, None)}


@pytest.mark.parametrize(
    "lines",
    [
        ("rank | loss", "0 | 1", "1 | 2"),
        ("rank  host  step", "0  gpu1  9", "1  gpu2  137"),
        ("exit codes by rank: [0, 0, 0, 0]",),
        ("the exit code of a rank is told below",),
    ],
)
def test_what_ends_nobody(lines: tuple[str, ...]) -> None:
    assert ends(*lines) == {}


@pytest.mark.parametrize(
    ("line", "ranks"),
    [
        ("no heartbeat from rank 3 for 120 s", {3}),
        ("No response received from ranks [2, 5]", {2, 5}),
        ("missing ranks: 2, 5-7", {2, 5, 6, 7}),
        ("ranks [2, 5] did not check in", {2, 5}),
        ("rank 3 (gpu07) has not responded since step 12", {3}),
        ("Rank 4 never joined the exchange", {4}),
        ("Unresponsive rank: 1", {1}),
    ],
)
def test_a_watcher_names_who_is_missing(line: str, ranks: set[int]) -> None:
    (found,) = [e for e in feed(RollCallParser, line) if isinstance(e, BarrierMissing)]
    assert found.missing == ranks


@pytest.mark.parametrize(
    "line",
    [
        "Rank 3 successfully reached monitoredBarrier, but rank 0 did not respond",
        "prompt: rank 3 did not respond",
        "all ranks checked in",
        "if rank 3 does not respond it is restarted",
    ],
)
def test_who_is_not_missing(line: str) -> None:
    assert feed(RollCallParser, line) == []


TASK = "/job:jax_worker/replica:0/task:{n}"


@pytest.mark.parametrize(
    ("lines", "tasks"),
    [
        ((f"UNAVAILABLE: {TASK.format(n=37)} heartbeat timeout. This indicates that",), {37}),
        (
            (
                f"{TASK.format(n=6)} has been set to ERROR in coordination service: UNAVAILABLE:"
                f" Task {TASK.format(n=6)} heartbeat timeout. This indicates that",
            ),
            {6},
        ),
        (
            (
                "Terminating process because the JAX distributed service detected fatal errors."
                " absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending"
                " heartbeats):",
                TASK.format(n=7),
            ),
            {7},
        ),
        (("tasks are unhealthy (stopped sending heartbeats):", TASK.format(n=1), "bye"), {1}),
        (
            ("Some timed out task names:", TASK.format(n=2), TASK.format(n=5)),
            {2, 5},
        ),
        ((f"(stopped sending heartbeats): {TASK.format(n=3)}, {TASK.format(n=4)}",), {3, 4}),
    ],
)
def test_tasks_that_a_coordination_service_lost(lines: tuple[str, ...], tasks: set[int]) -> None:
    assert only(BarrierMissing, feed(RollCallParser, *lines)).missing == tasks


@pytest.mark.parametrize(
    "lines",
    [
        (f"{TASK.format(n=0)} connected to the coordination service",),
        ("tasks are unhealthy (stopped sending heartbeats):", "bye", TASK.format(n=1)),
        ("/job:chief/replica:0/task:0 heartbeat timeout",),
        (f"{TASK.format(n=0)} has been set to ERROR in coordination service: INTERNAL: x",),
    ],
)
def test_tasks_that_are_only_named(lines: tuple[str, ...]) -> None:
    assert feed(RollCallParser, *lines) == []
