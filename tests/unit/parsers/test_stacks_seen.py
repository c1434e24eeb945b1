"""Live stacks in logs."""

from support.feeding import feed
from unhang.model.events import StackSeen
from unhang.model.phases import Phase
from unhang.parsers.stacks_seen import StackParser


def stacks(*texts: str) -> list[tuple[str, Phase | None, bool]]:
    return [
        (e.frame, e.phase, e.waiting) for e in feed(StackParser, *texts) if isinstance(e, StackSeen)
    ]


def test_py_spy_shows_a_compiler() -> None:
    found = stacks(
        'Thread 4711 (active): "MainThread"',
        "    make_llir (triton/backends/nvidia/compiler.py:417)",
        "    compile (triton/compiler/compiler.py:279)",
        "    forward (model.py:12)",
    )
    assert found == [("triton/backends/nvidia/compiler.py:make_llir", Phase.COMPILE, False)]


def test_faulthandler_shows_a_save() -> None:
    found = stacks(
        "Thread 0x00007f1b2c (most recent call first):",
        '  File "/env/lib/python3.11/site-packages/torch/serialization.py", line 944 in save',
        '  File "train.py", line 8 in <module>',
    )
    assert found == [("torch/serialization.py:save", Phase.SAVE, False)]


def test_a_wait_in_a_collective() -> None:
    found = stacks(
        'Thread 9 (idle): "MainThread"',
        "    all_reduce (torch/distributed/distributed_c10d.py:2501)",
        "    step (train.py:77)",
    )
    assert found == [("torch/distributed/distributed_c10d.py:all_reduce", None, True)]


def test_a_condensed_stack() -> None:
    found = stacks(
        "  sampler/ops/flashinfer.py:349   in sample_from_logits_op",
        "  flashinfer/jit/core.py:88     in build_and_load",
    )
    assert found == [("flashinfer/jit/core.py:build_and_load", Phase.COMPILE, False)]


def test_helper_threads_do_not_count() -> None:
    assert not stacks(
        'Thread 12 (idle): "Thread-3 (_pin_memory_loop)"',
        "    compile (triton/compiler/compiler.py:279)",
    )


def test_a_traceback_is_no_live_stack() -> None:
    assert not stacks(
        "Traceback (most recent call last):",
        '  File "/env/site-packages/triton/compiler/compiler.py", line 279, in compile',
        "RuntimeError: no",
    )


def test_the_stack_of_a_crash_is_none() -> None:
    assert not stacks(
        "Fatal Python error: Segmentation fault",
        "Current thread 0x00007f1b2c (most recent call first):",
        '  File "/env/site-packages/triton/compiler/compiler.py", line 279 in compile',
    )


def test_running_a_kernel_is_no_compilation() -> None:
    assert not stacks(
        'Thread 4711 (active): "MainThread"',
        "    run (triton/runtime/jit.py:653)",
        "    _fn (torch/_dynamo/eval_frame.py:574)",
    )


def test_an_engine_that_waits_for_its_workers() -> None:
    (found,) = stacks("No available shared memory broadcast block found in 60 seconds.")
    assert found[2] is True


def test_the_header_of_py_spy_names_the_process() -> None:
    (event,) = feed(
        StackParser,
        "Process 40331: /opt/env/bin/python3 train.py --rank 2 --local-rank=2",
        "Python v3.11.9 (/opt/env/bin/python3.11)",
        "",
        'Thread 40331 (idle): "MainThread"',
        "    poll (selectors.py:415)",
        "    _try_get_data (torch/utils/data/dataloader.py:1251)",
    )
    assert isinstance(event, StackSeen)
    assert (event.origin.pid, event.origin.rank, event.origin.local_rank) == (40331, 2, 2)
    assert event.phase is Phase.DATA


def test_the_next_process_is_another_one() -> None:
    first, second = feed(
        StackParser,
        "Process 1: python3 a.py --rank 0",
        "    save (torch/serialization.py:944)",
        "Process 2: python3 a.py --rank 1",
        "    barrier (torch/distributed/distributed_c10d.py:4000)",
    )
    assert (first.origin.rank, second.origin.rank) == (0, 1)


def test_who_waits_for_the_lock_of_a_build_is_not_at_work() -> None:
    (event,) = feed(
        StackParser,
        'Thread 71 (idle): "MainThread"',
        "    acquire (filelock/_api.py:332)",
        "    build_and_load (flashinfer/jit/core.py:316)",
    )
    assert isinstance(event, StackSeen)
    assert event.waiting
    assert event.phase is None
