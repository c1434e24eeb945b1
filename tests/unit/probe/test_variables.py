"""Variables of the Flight Recorder by version of torch."""

from __future__ import annotations

import pytest

from unhang.probe.variables import missing

OLD, NEW = "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"
OLD_FILE, NEW_FILE = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_FR_DUMP_TEMP_FILE"
ON = "TORCH_NCCL_DUMP_ON_TIMEOUT"


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("1.13.1", set()),
        ("2.1.2", set()),
        ("2.6.0+cu124", {OLD, OLD_FILE, ON}),
        ("2.9.1", {OLD, NEW, NEW_FILE, ON}),
        ("2.13.0+cpu", {NEW_FILE, ON}),
        ("unknown", set()),
    ],
)
def test_names_are_those_that_the_version_reads(version: str, names: set[str]) -> None:
    assert set(missing(version, "/run", {})) == names


def test_what_the_user_has_set_stays() -> None:
    theirs = {NEW: "20000", OLD_FILE: "/scratch/trace_", ON: "0"}
    assert missing("2.9.1", "/run", theirs) == {}


def test_dumps_go_into_the_run_folder() -> None:
    assert missing("2.13.0", "/run", {})[NEW_FILE] == "/run/dumps/watchdog/trace_"
