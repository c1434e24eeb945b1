"""The innermost place of the program itself."""

from __future__ import annotations

import os
import threading

from unhang.probe.stack import MainThreadFrame, main_thread, other_threads, own_place

TORCH = MainThreadFrame(
    "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", 3, "wait"
)
TRL = MainThreadFrame("/env/lib/python3.11/site-packages/trl/trainer.py", 9, "train")
TRAIN = MainThreadFrame("/home/ada/train.py", 26, "main")
STDLIB = MainThreadFrame(os.__file__, 5, "walk")


def test_the_programs_own_file_counts_before_libraries() -> None:
    assert own_place([STDLIB, TORCH, TRL, TRAIN]) == TRAIN


def test_then_a_library_that_is_not_torch() -> None:
    assert own_place([STDLIB, TORCH, TRL]) == TRL
    assert own_place([TORCH]) == TORCH
    assert own_place([]) is None


def test_the_main_thread_is_seen_from_within() -> None:
    functions = [place.function for place in main_thread()]
    assert functions[0] == "test_the_main_thread_is_seen_from_within"
    assert len(functions) <= 40


def test_the_other_threads_of_the_program_are_seen_and_the_main_one_is_not() -> None:
    begun, told = threading.Event(), threading.Event()

    def uploads() -> None:
        begun.set()
        told.wait()

    thread = threading.Thread(target=uploads)
    thread.start()
    begun.wait()
    stacks = [[place.function for place in stack] for stack in other_threads()]
    told.set()
    thread.join()
    assert [stack.count("uploads") for stack in stacks].count(1) == 1
    assert not any("test_the_other_threads" in name for stack in stacks for name in stack)
