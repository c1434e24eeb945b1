"""Stops from outside in everybody's own words."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import StopKind, StopSeen
from unhang.parsers.stops import StopsParser


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("KeyboardInterrupt", StopKind.INTERRUPT),
        ("^CTraceback (most recent call last):", StopKind.INTERRUPT),
        ("Detected KeyboardInterrupt, attempting graceful shutdown ...", StopKind.INTERRUPT),
        ("Keyboard interruption. Exiting from early training", StopKind.INTERRUPT),
        ("Training interrupted by user", StopKind.INTERRUPT),
        ("Terminated", StopKind.TERMINATED),
        ("./run.sh: line 9:  4711 Terminated              python train.py", StopKind.TERMINATED),
        ("Received SIGTERM, exiting gracefully", StopKind.TERMINATED),
        ("exiting program after receiving SIGTERM.", StopKind.TERMINATED),
        ("Hangup", StopKind.HANGUP),
        ("Connection to node1 closed by remote host.", StopKind.HANGUP),
        ("Spot interruption notice received, saving", StopKind.PREEMPTED),
        ("The instance is being preempted", StopKind.PREEMPTED),
        ("Received a shutdown notice from the metadata server", StopKind.PREEMPTED),
        ("Detected eviction notice, 30 s left", StopKind.PREEMPTED),
        ("Spot VM was reclaimed", StopKind.PREEMPTED),
        ("Job has been cancelled by user", StopKind.CANCELLED),
        ("job has exceeded the wall time limit", StopKind.TIME_LIMIT),
        ("Job attempt duration exceeded timeout", StopKind.TIME_LIMIT),
        ("flux-job: task(s) Terminated", StopKind.TERMINATED),
        (
            "FatalError: `Termination signal` is detected by the operating system.",
            StopKind.TERMINATED,
        ),
    ],
)
def test_stops(text: str, kind: StopKind) -> None:
    assert only(StopSeen, feed(StopsParser, text)).kind is kind


@pytest.mark.parametrize(
    "text",
    [
        "except KeyboardInterrupt:",
        "Terminated worker pool in 3 s",
        "Registered handler for SIGTERM",
        "sending SIGTERM to children",
        "[rank: 0] Received SIGTERM: 15",
        "step killed by user filter",
        "Preemption is enabled",
    ],
)
def test_no_stops(text: str) -> None:
    assert feed(StopsParser, text) == []


@pytest.mark.parametrize(
    "text",
    ["EC2 spot instance interruption notice: 120 s left", "preemption notice, saving"],
)
def test_notices_in_any_order_of_words(text: str) -> None:
    assert only(StopSeen, feed(StopsParser, text)).kind is StopKind.PREEMPTED


@pytest.mark.parametrize("text", ["no interruption so far", "preemptible nodes are cheaper"])
def test_words_about_interruptions_are_none(text: str) -> None:
    assert not feed(StopsParser, text)
