"""What a command needs in its environment, and what the probe reads there."""

from __future__ import annotations

import os

import pytest

from unhang.probe.environment import LONG_LIMIT_MS, SITE, additions, settings


def test_the_users_path_comes_after_ours() -> None:
    added = additions({"PYTHONPATH": f"/a{os.pathsep}/b"}, run_folder="/run", host="gpu-07")
    assert added["PYTHONPATH"].split(os.pathsep) == [SITE, "/a", "/b"]
    again = additions(added, run_folder="/run", host="gpu-07")
    assert again["PYTHONPATH"] == added["PYTHONPATH"]


def test_an_empty_path_adds_no_current_folder() -> None:
    assert additions({"PYTHONPATH": ""}, run_folder="/run")["PYTHONPATH"] == SITE
    assert additions({}, run_folder="/run")["PYTHONPATH"] == SITE


@pytest.mark.parametrize(
    ("timeouts", "mode", "limit_ms"),
    [
        ("keep", "keep", LONG_LIMIT_MS),
        ("judge", "judge", LONG_LIMIT_MS),
        ("7200", "fixed", 7_200_000),
    ],
)
def test_the_probe_reads_what_was_written(timeouts: str, mode: str, limit_ms: int) -> None:
    added = additions({}, run_folder="/run", host="gpu-07", timeouts=timeouts)
    read = settings(added)
    assert (read.run, read.host, read.mode, read.limit_ms) == ("/run", "gpu-07", mode, limit_ms)
    assert (read.interval_s, read.deadman_s) == (1.0, 30.0)


@pytest.mark.parametrize("text", ["", "soon", "-1", "0", "nan", "inf"])
def test_unusable_numbers_read_as_the_default(text: str) -> None:
    environ = {"UNHANG_RUN": "/run", "UNHANG_INTERVAL_S": text, "UNHANG_DEADMAN_S": text}
    assert settings(environ)[-2:] == (1.0, 30.0)
