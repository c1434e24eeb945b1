"""Where a process is: the main thread, or the thread in which Ray runs a method of an actor."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from unhang.probe import stack


@contextmanager
def running(function: Callable[[threading.Event, threading.Event], None]) -> Iterator[None]:
    """Another thread that stands in a function until the end."""
    there, over = threading.Event(), threading.Event()
    thread = threading.Thread(target=function, args=(there, over))
    thread.start()
    there.wait(5)
    try:
        yield
    finally:
        over.set()
        thread.join(5)


def actor_method_executor(there: threading.Event, over: threading.Event) -> None:
    """Named as Ray's."""
    update_actor(there, over)


def update_actor(there: threading.Event, over: threading.Event) -> None:
    there.set()
    over.wait(5)


def test_the_main_thread_counts() -> None:
    with running(actor_method_executor):
        functions = [place.function for place in stack.main_thread()]
    assert "test_the_main_thread_counts" in functions
    assert "update_actor" not in functions


def test_where_ray_only_serves_the_thread_of_the_task_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stack, "_serves", lambda _: True)
    with running(actor_method_executor):
        functions = [place.function for place in stack.main_thread()]
    assert "update_actor" in functions


def test_where_no_task_runs_ray_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "_serves", lambda _: True)
    with running(update_actor):
        functions = [place.function for place in stack.main_thread()]
    assert "update_actor" not in functions
