"""Stacks of Python's threads: py-spy, faulthandler, pystack, torch's debug server."""

import pytest

from support.feeding import feed, line
from unhang.model.events import ThreadStack
from unhang.parsers.python_stacks import PythonStacksParser


def stacks(*texts: str) -> list[ThreadStack]:
    found = feed(PythonStacksParser, *texts)
    return [event for event in found if isinstance(event, ThreadStack)]


PY_SPY = (
    "Process 4711: /opt/env/bin/python train.py --local-rank=2",
    "Python v3.11.7 (/usr/bin/python3.11)",
    "",
    'Thread 4711 (idle): "MainThread"',
    "    c10d::Work::wait (libtorch_cpu.so)",
    "    barrier (torch/distributed/distributed_c10d.py:5356)",
    "    _exception_logger.<locals>.wrapper (torch/distributed/c10d_logger.py:83)",
    "    main (train.py:70)",
    'Thread 4790 (active+gil): "QueueFeederThread"',
    "    Thread._bootstrap (threading.py:1002)",
)


def test_py_spy_names_process_and_threads() -> None:
    main, helper = stacks(*PY_SPY)
    assert (main.origin.pid, main.origin.local_rank, main.main, main.idle) == (4711, 2, True, True)
    assert [f.function for f in main.frames] == [
        "main",
        "_exception_logger.<locals>.wrapper",
        "barrier",
        "c10d::Work::wait",
    ]
    assert main.frames[2].line == 5356
    assert (helper.main, helper.idle, helper.gil) == (False, False, True)


@pytest.mark.parametrize(
    ("note", "rank", "local"),
    [
        ("python fit.py --bf16  # rank 5", 5, None),
        ("python fit.py (loader of 4700 = rank 5)", 5, None),
        ("python fit.py --n 3   <- local rank 1", None, 1),
        ("python fit.py --what='# of rank' --lora (rank 8)", 8, None),
        ("python fit.py --lora-rank 8", None, None),
        ("python fit.py  # rank 0 waits for rank 5", None, None),
    ],
)
def test_what_is_noted_behind_the_command(note: str, rank: int | None, local: int | None) -> None:
    (main, _) = stacks(f"Process 4711: {note}", *PY_SPY[1:])
    assert (main.origin.rank, main.origin.local_rank) == (rank, local)


def test_the_place_of_a_stack_is_its_innermost_frame() -> None:
    main, _ = stacks(*PY_SPY)
    assert main.source.line == 5
    assert "c10d::Work::wait" in main.source.text


def test_faulthandler_prints_the_innermost_frame_first() -> None:
    helper, main = stacks(
        "Timeout (0:05:00)!",
        "Thread 0x00007f39e2ffd6c0 (most recent call first):",
        '  File "/usr/lib/python3.11/threading.py", line 327 in wait',
        "",
        "Thread 0x00007f39e33e3b80 [python3] (most recent call first):",
        "  Garbage-collecting",
        '  File "/opt/env/lib/python3.11/site-packages/torch/serialization.py", line 944 in save',
        '  File "/home/ada/train.py", line 26 in <module>',
    )
    assert [f.function for f in main.frames] == ["<module>", "save"]
    assert main.collecting
    assert not helper.collecting


def test_faulthandler_may_print_the_asked_thread_alone() -> None:
    (stack,) = stacks(
        "Stack (most recent call first):",
        '  File "/usr/lib/python3.11/re/__init__.py", line 166 in match',
        '  File "/home/ada/train.py", line 26 in <module>',
    )
    assert [f.function for f in stack.frames] == ["<module>", "match"]
    assert (stack.tid, stack.main) == (None, None)


def test_pystack_prints_the_outermost_frame_first() -> None:
    (stack,) = stacks(
        "Traceback for thread 4711 (python) [Has the GIL] (most recent call last):",
        '    (C) File "???", line 0, in _start (/usr/bin/python3)',
        '    (Python) File "/home/ada/train.py", line 26, in main',
        "        save(model)",
        '    (C) File "???", line 0, in c10d::Work::wait(std::duration<long>) (libtorch.so)',
    )
    assert [f.function for f in stack.frames] == ["_start", "main", "c10d::Work::wait"]
    assert stack.gil


def test_pystacks_word_on_garbage_does_not_count() -> None:
    # It reads it from the name of any C++ function, such as pybind11's unpacking_collector.
    (stack,) = stacks(
        "Traceback for thread 1 (python) [Garbage collecting] (most recent call last):",
        '    (Python) File "/home/ada/train.py", line 26, in main',
    )
    assert not stack.collecting


def test_sections_name_the_rank() -> None:
    dump = (
        "Current thread 0x00007f1b2c (most recent call first):",
        '  File "/home/ada/train.py", line 26 in main',
        "",
    )
    heads = (
        "=== Rank 3: http://gpu-07:4871 ===",
        "--- rank 4 (pid 4711) ---",
        "==> stacks/rank5.txt <==",
        "# Rank 6",
    )
    found = stacks(*(text for head in heads for text in (head, *dump)))
    assert [s.origin.rank for s in found] == [3, 4, 5, 6]
    assert found[1].origin.pid == 4711


def test_a_rank_of_nodes_is_none() -> None:
    (stack,) = stacks(
        "Process 7: torchrun --node-rank=1 train.py",
        'Thread 7 (idle): "MainThread"',
        "    main (train.py:1)",
    )
    assert stack.origin.rank is None


def test_an_abort_leaves_the_stacks_of_those_that_waited() -> None:
    (stack,) = stacks(
        "Fatal Python error: Aborted",
        "",
        "Thread 0x00007f1b2c (most recent call first):",
        '  File "/home/ada/train.py", line 26 in main',
    )
    assert stack.aborted


def test_other_crashes_leave_none() -> None:
    assert not stacks(
        "Fatal Python error: Segmentation fault",
        "",
        "Current thread 0x00007f1b2c (most recent call first):",
        '  File "/home/ada/train.py", line 26 in main',
    )


def test_a_traceback_is_no_stack() -> None:
    assert not stacks(
        "Traceback (most recent call last):",
        '  File "/home/ada/train.py", line 26, in main',
        "ValueError: no",
    )


def test_ranks_that_print_at_once_are_kept_apart() -> None:
    texts = (
        "Thread 0x00007f1b2c (most recent call first):",
        '  File "/home/ada/train.py", line 26 in save',
    )
    lines = [line(text, rank=rank) for text in texts for rank in (0, 1)]
    found = [e for e in feed(PythonStacksParser, *lines) if isinstance(e, ThreadStack)]
    assert [(s.origin.rank, len(s.frames)) for s in found] == [(0, 1), (1, 1)]


def test_the_command_that_asked_says_of_which_rank() -> None:
    (event,) = stacks(
        "$ py-spy dump --pid 71204      # rank 3, taken 22:36",
        "Process 71204: python train.py",
        "Python v3.12.11 (/usr/bin/python3.12)",
        "",
        'Thread 71204 (active): "MainThread"',
        "    barrier (torch/distributed/distributed_c10d.py:4811)",
        "    main (train.py:52)",
        "",
    )
    assert (event.origin.rank, event.origin.pid) == (3, 71204)


def test_a_stack_whose_thread_was_cut_away_is_of_the_head_right_above_it() -> None:
    first, second = stacks(
        "##### rank 5 (pid 881)",
        "    all_reduce (torch/distributed/distributed_c10d.py:2806)",
        "    fit (sweep.py:61)",
        "##### rank 6 (pid 882)",
        "    backward (torch/_tensor.py:525)",
        "    fit (sweep.py:58)",
    )
    assert (first.origin.rank, second.origin.rank, second.origin.pid) == (5, 6, 882)
    assert [f.function for f in second.frames] == ["fit", "backward"]


def test_frames_that_stand_apart_from_a_head_are_nobodys_stack() -> None:
    assert not stacks("### rank 5", "it looked so:", "    fit (sweep.py:61)")
    assert not stacks("### rank 5", "fit (sweep.py:61)")
    assert not stacks("### rank 5", "    took long (see below)")


def test_ids_of_threads_may_stand_without_a_prefix() -> None:
    (stack,) = stacks(
        "Process 31: python fit.py",
        'Thread e4b1c0 (active): "MainThread"',
        "    barrier (torch/distributed/distributed_c10d.py:3685)",
        "    fit (fit.py:8)",
    )
    assert (stack.tid, stack.main, stack.origin.pid) == (0xE4B1C0, True, 31)


def test_main_threads_alone_are_processes_of_their_own() -> None:
    first, second = stacks(
        'Thread 7001 (active): "MainThread"',
        "    barrier (torch/distributed/distributed_c10d.py:3685)",
        "--",
        'Thread 7002 (active): "MainThread"',
        "    fit (fit.py:8)",
        "$ ls",
        "    total (here)",
    )
    assert (first.origin.pid, second.origin.pid) == (7001, 7002)
    assert [f.function for f in second.frames] == ["fit"]


def test_the_stack_of_a_debugger_for_python() -> None:
    (stack,) = stacks(
        "$ gdb -p 2214 -batch -ex 'py-bt'     # rank 1",
        "Traceback (most recent call first):",
        "  <built-in method item of Tensor object at remote 0x7f1a5521f4c8>",
        '  File "/home/lab/run.py", line 111, in <module>',
    )
    assert (stack.origin.rank, stack.origin.pid) == (1, 2214)
    assert [f.function for f in stack.frames] == ["<module>", "Tensor::item"]
