"""Which line of ProcessGroupNCCL.cpp prints which message, by release of torch."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from unhang.model.forms import patterns_of
from unhang.model.toml import load


class TorchMessage(enum.Enum):
    """Messages whose place in the source is known."""

    TIMEOUT = "time-out"
    FAILED = "operations have failed"
    TEARDOWN = "taking the process down"
    REPORT = "failure detected by watchdog"
    REPORT_LATER = "timeout at NCCL work"
    TERMINATED = "watchdog thread terminated"
    STACK_FOUND = "stack trace of the failed collective"
    STACK_NOT_FOUND = "stack trace not found"
    DUMP = "preparing to dump"
    SIGNAL = "dump signal"
    FIRST = "first PG on this rank"


_DATA = "unhang.parsers.vocabulary", "data/torch_lines.toml"
SIGNS = patterns_of(TorchMessage, *_DATA)
"""How to tell which message a line holds; the first that matches."""

RELEASES: Mapping[str, Mapping[TorchMessage, frozenset[int]]] = {
    version: {TorchMessage(message): frozenset(numbers) for message, numbers in lines.items()}
    for version, lines in load(*_DATA)["releases"].items()
}
"""Line numbers by version and message; a set where a message stands in several places."""
