"""Pod states and events."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import ClosingSignal, ProcessEnded, StopKind, StopSeen
from unhang.parsers.kubernetes import KubernetesParser


def test_a_description_tells_one_failure() -> None:
    event = only(
        ProcessEnded,
        feed(
            KubernetesParser,
            "    Last State:     Terminated",
            "      Reason:       OOMKilled",
            "      Exit Code:    137",
        ),
    )
    assert (event.oom, event.signal) == (True, 9)


@pytest.mark.parametrize(
    ("text", "signal", "code"),
    [
        ("      Exit Code:    137", 9, None),
        ("      Exit Code:    139", 11, None),
        ('        "exitCode": 143,', 15, None),
        ("command terminated with exit code 1", None, 1),
    ],
)
def test_exit_codes_alone_do_not_say_memory(
    text: str, signal: int | None, code: int | None
) -> None:
    event = only(ProcessEnded, feed(KubernetesParser, text))
    assert (event.signal, event.exit_code, event.oom) == (signal, code, False)


def test_success_is_no_failure() -> None:
    assert feed(KubernetesParser, "      Exit Code:    0") == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "Warning  Evicted  2m  kubelet  The node was low on resource: memory.",
            StopKind.EVICTED,
        ),
        ('  "reason": "Preempted",', StopKind.PREEMPTED),
        ("  Reason:  DeadlineExceeded", StopKind.TIME_LIMIT),
        ("Warning  NodeNotReady  5s  node-controller  Node is not ready", StopKind.NODE_FAILED),
    ],
)
def test_stops(text: str, kind: StopKind) -> None:
    assert only(StopSeen, feed(KubernetesParser, text)).kind is kind


def test_words_of_the_program_are_no_events() -> None:
    assert feed(KubernetesParser, "Evicted 12 stale entries") == []
    assert feed(KubernetesParser, "process 0 terminated with exit code 1") == []


def test_a_container_that_is_stopped_is_a_victim() -> None:
    text = "Normal  Killing  9s  kubelet  Stopping container pytorch"
    assert only(ClosingSignal, feed(KubernetesParser, text)).signal == 15


def test_the_pod_names_the_host() -> None:
    event = only(
        ProcessEnded,
        feed(KubernetesParser, "2m  Warning  BackOff  pod/trainer-worker-3  reason: OOMKilled"),
    )
    assert event.host == "trainer-worker-3"


@pytest.mark.parametrize("lead", ["", '{"containerStatuses":[{"lastState":'])
def test_the_state_of_a_container_in_json(lead: str) -> None:
    state = '{"terminated":{"containerID":"c://9f","exitCode":137,"reason":"OOMKilled"}}'
    event = only(ProcessEnded, feed(KubernetesParser, f"{lead}{state}"))
    assert (event.oom, event.signal) == (True, 9)
    done = state.replace("137", "0").replace("OOMKilled", "Completed")
    assert not feed(KubernetesParser, f"{lead}{done}")
    assert not feed(KubernetesParser, f"the answer was {state}")


def test_events_of_pods_of_other_jobs_stop_nobody() -> None:
    evicted = "12m  Warning  Evicted  pod/{}  The node was low on resource: ephemeral-storage."
    job = "1m  Normal  Created  pytorchjob/bert  Created pod: bert-worker-0"
    other, own = evicted.format("notebook-ann-0"), evicted.format("bert-worker-0")
    assert len(feed(KubernetesParser, other)) == 1
    assert feed(KubernetesParser, other, job) == []
    assert [type(e) for e in feed(KubernetesParser, own, job)] == [StopSeen]


def test_what_is_asked_for_afterwards_is_of_its_pod_and_of_no_time() -> None:
    stop = only(
        StopSeen,
        feed(KubernetesParser, "16m  Warning  Evicted  pod/gpt-worker-2  The node was low."),
    )
    assert (stop.origin.host, stop.told_later) == ("gpt-worker-2", True)
    end = only(
        ProcessEnded,
        feed(
            KubernetesParser,
            "me@login:~$ kubectl describe pod gpt-worker-1 | grep -A5 State",
            "      Reason:       OOMKilled",
        ),
    )
    assert (end.host, end.told_later) == ("gpt-worker-1", True)
    row = "gpt-worker-1      0/1     OOMKilled     0          18m"
    listed = only(ProcessEnded, feed(KubernetesParser, row))
    assert (listed.host, listed.oom, listed.told_later) == ("gpt-worker-1", True, True)
    heard = only(ProcessEnded, feed(KubernetesParser, "command terminated with exit code 137"))
    assert not heard.told_later


def test_a_container_that_docker_says_was_killed_for_memory() -> None:
    event = only(ProcessEnded, feed(KubernetesParser, '            "OOMKilled": true,'))
    assert (event.oom, event.signal) == (True, 9)
    assert feed(KubernetesParser, '            "OOMKilled": false,') == []


def test_the_state_of_a_container_on_one_line_tells_its_code() -> None:
    state = '{"terminated":{"exitCode":%d,"reason":"Error","startedAt":"2026-11-21T05:05:16Z"}}'
    event = only(ProcessEnded, feed(KubernetesParser, state % 3))
    assert event.exit_code == 3
    assert feed(KubernetesParser, state % 0) == []


DESCRIBED = """\
Name:             a-worker-1
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      nvidia.com/gpu:  {gpus}
    Environment:
      WORLD_SIZE:        4
      RANK:              2
"""


@pytest.mark.parametrize(("gpus", "rank"), [(1, 2), (8, None)])
def test_the_rank_in_a_pod_s_environment(gpus: int, rank: int | None) -> None:
    event = only(ProcessEnded, feed(KubernetesParser, *DESCRIBED.format(gpus=gpus).splitlines()))
    assert (event.rank, event.oom) == (rank, True)
