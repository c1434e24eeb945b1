"""The collective that the main thread stands in, read from frames of torch itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from unhang.probe import arguments


@pytest.fixture(scope="module", name="torch")
def imported() -> ModuleType:
    """Only here: `import torch` takes seconds, and every worker reads all test modules."""
    found: ModuleType = pytest.importorskip("torch")
    pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    return found


@contextmanager
def two_ranks(dist: ModuleType) -> Iterator[None]:
    """This process is rank 1 of two; the other one never comes."""
    store = dist.HashStore()
    dist.init_process_group("fake", store=store, rank=1, world_size=2)
    yield
    dist.destroy_process_group()


def seen_during(
    dist: ModuleType,
    call: Callable[[], object],
    monkeypatch: pytest.MonkeyPatch,
    within: str = "_rank_not_in_group",
) -> object:
    """What is told while a function that a call uses runs, as its native part might."""
    told: list[object] = []
    original = getattr(dist.distributed_c10d, within)

    def look(*args: object, **more: object) -> object:
        watcher = threading.Thread(target=lambda: told.append(arguments.of_call()))
        watcher.start()
        watcher.join()
        return original(*args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(dist.distributed_c10d, within, look)
        call()
    return told[0]


def test_the_source_of_a_broadcast_is_told(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    dist = torch.distributed
    with two_ranks(dist):
        tensor = torch.ones(2)
        told = seen_during(dist, lambda: dist.broadcast(tensor, src=0), monkeypatch)
        assert isinstance(told, dict)
        assert (told["op"], told["src"], told["dst"]) == ("broadcast", 0, None)
        told = seen_during(dist, lambda: dist.send(tensor, dst=0), monkeypatch)
        assert isinstance(told, dict)
        assert (told["op"], told["dst"]) == ("send", 0)


def test_name_and_members_of_a_group_that_is_being_made_are_told(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    dist = torch.distributed
    with two_ranks(dist):
        dist.new_group([0])
        told = seen_during(dist, lambda: dist.new_group([1, 0]), monkeypatch, "PrefixStore")
        assert isinstance(told, dict)
        assert (told["op"], told["group"], told["ranks"]) == ("new_group", "2", [0, 1])


def test_outside_of_a_collective_nothing_is_told() -> None:
    assert arguments.of_call() is None
