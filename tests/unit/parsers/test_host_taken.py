"""Hosts that are taken from a job, in words that no list has; and what sounds like it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unhang
from support.feeding import feed
from unhang.model.causes import Cause
from unhang.model.events import StopKind, StopSeen
from unhang.parsers.host_taken import HostTakenParser
from unhang.sources.line import Line

HOSTS = ("node", "host", "instance", "VM", "machine")


def taken(*texts: str) -> bool:
    parser = HostTakenParser()
    events = [
        event
        for number, text in enumerate(texts)
        for event in parser.feed(Line(artifact="a", number=number, text=text, raw=text))
    ]
    assert all(isinstance(e, StopSeen) and e.kind is StopKind.REMOVED for e in events)
    return len(events) > 0


@given(
    st.sampled_from(HOSTS),
    st.from_regex(r"[a-z]{2,6}-\d{1,3}", fullmatch=True),
    st.sampled_from(["was", "is being", "has been", "will be"]),
    st.sampled_from(["drained", "reclaimed", "decommissioned", "preempted", "evicted"]),
)
def test_any_host_in_any_tense(host: str, name: str, tense: str, verb: str) -> None:
    assert taken(f"{host} {name} {tense} {verb} by the cluster")


@pytest.mark.parametrize(
    "text",
    [
        "draining node gx-4 before the update",
        "scaled down the worker group from 4 to 3 workers",
        "provider: instance i-08 terminated, no capacity",
        "StandardAutoscaler: Terminating the node with id i-0a and ip 10.0.0.7. (outdated)",
        "Normal  ScaleDown  pod/train-3  deleting pod for node scale down",
        "scheduled event: Preempt for virtual machine gx-4",
    ],
)
def test_keepers_of_hosts(text: str) -> None:
    assert taken(text)


@pytest.mark.parametrize(
    "text",
    [
        "loss scale: scaling down to 1024",
        "removed 3 nodes from the graph",
        "node gx-4 drained: hardware fault",
        "node gx-4 will not be drained",
        "0 nodes were drained",
        "worker 3 was terminated by signal 9",
        "instance terminated",
        "removed host key of gx-4",
        "server shut down",
        "if a node is preempted the job restarts",
        "queue drained, 8 workers joined",
    ],
)
def test_what_sounds_like_it(text: str) -> None:
    assert not taken(text)


def test_an_idle_host_counts_only_when_its_death_follows() -> None:
    idle = "autoscaler: Removing 1 nodes of type gpu (idle)."
    assert not taken(idle)
    assert taken(idle, "The actor is dead because its node has died. Node Id: 5a")
    assert not taken("The actor is dead because its node has died. Node Id: 5a")


@pytest.mark.parametrize(
    ("notice", "cause"),
    [
        ("2026-03-01 10:09:00 [scaler] host gx-4 was reclaimed", Cause.EXTERNAL_STOP),
        ("2026-03-01 10:09:00 [scaler] 5 hosts are busy", Cause.RANK_CRASH),
    ],
)
def test_a_death_that_was_announced_is_no_crash(notice: str, cause: Cause, tmp_path: Path) -> None:
    steps = [f"2026-03-01 10:0{m}:00 INFO step {m}/900 loss=2.0" for m in range(9)]
    died = (
        "2026-03-01 10:09:20 ERROR ray.exceptions.ActorDiedError: The actor died unexpectedly.",
        "The actor is dead because its node has died. Node Id: 5a",
    )
    (tmp_path / "job.log").write_text("\n".join((*steps, notice, *died)) + "\n")
    assert unhang.diagnose(str(tmp_path)).cause is cause
    (tmp_path / "job.log").write_text("\n".join((*steps, *died, notice)) + "\n")
    assert unhang.diagnose(str(tmp_path)).cause is not Cause.EXTERNAL_STOP


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("i-0a1b2c\tinstance-terminated-by-price\t2024-05-09T22:39:21+00:00", True),
        ("i-0a1b2c\tinstance-stopped-no-capacity\t2024-05-09T22:39:21+00:00", True),
        ("i-0a1b2c\tmarked-for-termination\t2024-05-09T22:39:21+00:00", True),
        ("i-0a1b2c\tinstance-terminated-by-user\t2024-05-09T22:39:21+00:00", False),
        ("ev-1  compute.instances.preempted  eu-west4-a/instances/w-3  200  DONE", True),
    ],
)
def test_clouds_tell_by_their_codes_that_a_host_was_taken(text: str, taken: bool) -> None:
    assert bool(feed(HostTakenParser, text)) is taken
