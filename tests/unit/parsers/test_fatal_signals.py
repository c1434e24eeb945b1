"""Last words of a process and of the shell."""

from __future__ import annotations

import pytest

from support.feeding import feed, line, only
from unhang.model.events import ProcessEnded, Reporter
from unhang.model.ids import Rank
from unhang.parsers.fatal_signals import FatalSignalsParser


@pytest.mark.parametrize(
    ("text", "signal", "pid"),
    [
        ("Fatal Python error: Segmentation fault", 11, None),
        ("Fatal Python error: Bus error", 7, None),
        ("Fatal Python error: Floating-point exception", 8, None),
        ("Fatal Python error: none_dealloc: deallocating None", 6, None),
        ("terminate called after throwing an instance of 'std::bad_alloc'", 6, None),
        (
            "[node07:4711:0:4712] Caught signal 11 (Segmentation fault: address not mapped)",
            11,
            4711,
        ),
        (
            "*** SIGSEGV (@0x0) received by PID 4711 (TID 0x7f) from PID 0; stack trace: ***",
            11,
            4711,
        ),
        ("[node07:4711] Signal: Aborted (6)", 6, 4711),
        ("free(): invalid pointer", 6, None),
        ("double free or corruption (!prev)", 6, None),
        ("/bin/bash: line 1: 4711 Killed                  python train.py", 9, 4711),
        ("./run.sh: line 12: 4242 Segmentation fault      (core dumped) python", 11, 4242),
        ("Segmentation fault (core dumped)", 11, None),
        ("Bus error (core dumped)", 7, None),
        ("Killed", 9, None),
    ],
)
def test_signals(text: str, signal: int, pid: int | None) -> None:
    event = only(ProcessEnded, feed(FatalSignalsParser, text))
    assert (event.signal, event.pid) == (signal, pid)


@pytest.mark.parametrize(
    "text",
    [
        "terminate called after throwing an instance of 'c10::DistBackendError'",
        "terminate called after throwing an instance of 'c10::Error'",
        "terminate called without an active exception",
        "[node07:4711:0:4711] Caught signal 15 (Terminated: sent by PID 1)",
        "The previous run was Killed by the operator",
        "Killed processes: 0",
        "Terminated",
    ],
)
def test_no_crash(text: str) -> None:
    assert feed(FatalSignalsParser, text) == []


def test_a_parent_that_kills_its_own_tree_tells_no_news() -> None:
    lines = ["[09:12:44] Received sigquit from a child process. It usually failed.", "Killed"]
    assert feed(FatalSignalsParser, *lines) == []
    assert len(feed(FatalSignalsParser, *reversed(lines))) == 1


def test_a_failed_allocation_in_native_code_is_a_lack_of_memory() -> None:
    text = "terminate called after throwing an instance of 'std::bad_alloc'"
    assert only(ProcessEnded, feed(FatalSignalsParser, text)).oom


def test_ucx_holds_no_rank() -> None:
    event = only(ProcessEnded, feed(FatalSignalsParser, "[n1:7:0:7] Caught signal 8 (FPE)"))
    assert (event.rank, event.host) == (None, "n1")


def test_last_words_belong_to_who_printed_them() -> None:
    said = line("Fatal Python error: Segmentation fault", rank=3)
    event = only(ProcessEnded, feed(FatalSignalsParser, said))
    assert (event.rank, event.reporter) == (Rank(3), Reporter.SELF)


def test_an_older_heap_names_its_program() -> None:
    said = "*** Error in `/opt/v/bin/python': double free or corruption (!prev): 0x00007f4c ***"
    assert only(ProcessEnded, feed(FatalSignalsParser, said)).signal == 6
    assert feed(FatalSignalsParser, "see the note on double free or corruption in python") == []
