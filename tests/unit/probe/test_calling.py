"""The native method under way, from the instruction of the main thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from unhang.probe.calling import Calling

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python before 3.11 does not tell"
)


def told_during(block: Callable[[threading.Lock], None]) -> list[str | None]:
    """What three looks say while the main thread is in a call that lasts until the last of them."""
    held = threading.Lock()
    held.acquire()
    told: list[str | None] = []

    def look() -> None:
        calling, pause = Calling(), threading.Event()
        for _ in range(3):
            pause.wait(0.1)
            told.append(calling.see())
        held.release()

    looking = threading.Thread(target=look)
    looking.start()
    block(held)
    looking.join()
    return told


def test_a_method_is_told_from_the_second_look_on() -> None:
    def block(held: threading.Lock) -> None:
        work = SimpleNamespace(wait=held.acquire)
        work.wait()

    assert told_during(block) == [None, "wait", "wait"]


def test_calls_among_the_arguments_are_not_taken_for_it() -> None:
    def block(held: threading.Lock) -> None:
        works = [SimpleNamespace(store=SimpleNamespace(wait=held.acquire))]
        works[0].store.wait(
            bool(max(1, 2)),
            float("-1".strip()),
        )

    assert told_during(block)[-1] == "wait"


def test_a_method_under_another_name_is_not_known() -> None:
    def block(held: threading.Lock) -> None:
        acquire = held.acquire
        acquire()

    assert told_during(block) == [None, None, None]
