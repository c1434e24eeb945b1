"""A healthy job stays healthy whatever its log quotes; the same words of a program convict."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest

import unhang
from fuzz.quoted import convicts, shown, templates
from metamorphic.quotes import CONTEXTS, GENUINE, healthy

FOUND_WITHIN = frozenset({"address-in-use", "child-failed", "oom-killed", "unique-id"})
"""Texts that are found in the middle of a message: plain prose in front looks like its start."""
TELL_TOO_LITTLE = frozenset(
    {"gloo-closed", "link-down", "shell-killed", "srun-task", "subprocess", "watchdog"}
)
"""Messages that convict nobody by themselves."""

PREFIXES = (
    "[rank3]: ",
    "2026-05-01 10:09:59,123 - trainer - ERROR - ",
    "2026-05-01T10:09:59.123456Z ",
    "(TrainWorker pid=4711, ip=10.0.0.2) ",
    " 3: ",
    "[2026-05-01 10:09:59,123] ",
    "gpu07: ",
)


def _judge(text: str, folder: Path) -> tuple[str, str | None]:
    path = folder / "job.log"
    path.write_text(text)
    found = unhang.diagnose(str(path))
    return found.outcome.value, None if found.cause is None else found.cause.value


@pytest.mark.parametrize("text", GENUINE)
def test_a_quoted_failure_is_none(text: str, tmp_path: Path) -> None:
    """All ways of quoting it in one log: none may convict, neither at its end nor before."""
    quoted = [
        line
        for name, quote in CONTEXTS.items()
        if name != "prose" or text not in FOUND_WITHIN
        for line in quote(GENUINE[text])
    ]
    for dated in (True, False):
        log = healthy(quoted, dated=dated, finished=False, after=0)
        assert _judge(log, tmp_path)[0] in {"healthy", "undetermined"}


@pytest.mark.parametrize(
    ("text", "prefix"),
    list(zip(sorted(GENUINE.keys() - TELL_TOO_LITTLE), cycle(PREFIXES), strict=False)),
)
def test_a_message_convicts_under_its_prefix(text: str, prefix: str, tmp_path: Path) -> None:
    bare = _judge(healthy(GENUINE[text], dated=False, finished=False, after=0), tmp_path)
    marked = [prefix + line for line in GENUINE[text]]
    assert bare[0] in {"cause", "located"}
    assert _judge(healthy(marked, dated=False, finished=False, after=0), tmp_path) == bare


@pytest.mark.parametrize("text", sorted(GENUINE.keys() - {"watchdog", "cancelled", "child-failed"}))
def test_what_the_job_outlived_is_history(text: str, tmp_path: Path) -> None:
    log = healthy(GENUINE[text], dated=True, finished=True, after=20)
    assert _judge(log, tmp_path)[0] == "healthy"


SAID_OF_THE_JOB = frozenset({"said: retried"})
"""Nothing tells whose failure it was but what comes later."""


@pytest.mark.parametrize("way", sorted(templates().keys() - SAID_OF_THE_JOB))
def test_a_failure_that_is_shown_is_nobody_s(way: str) -> None:
    """In a log that ends with it: three texts of each way, other ones for each."""
    jobs = [j for j in shown({way: templates()[way]}) if j.place == "still running" and j.text]
    first = sum(map(ord, way)) % 7
    found = {job.name: convicts(job) for job in jobs[first::17]}
    assert found == dict.fromkeys(found)


def test_a_failure_behind_a_sample_is_the_job_s(tmp_path: Path) -> None:
    log = ["### Response:", "The capital is Paris.", *GENUINE["oom-kill-event"]]
    text = healthy(log, dated=False, finished=False, after=0)
    assert _judge(text, tmp_path) == ("cause", "host_oom")
