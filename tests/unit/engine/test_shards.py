"""Shards come back whatever becomes of the processes that run them."""

from __future__ import annotations

import os
import signal
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest

from unhang.engine import on_ray
from unhang.engine.shards import Engine, map_shards
from unhang.errors import UsageError


def square(folder: Path, number: int) -> int:
    """3 kills its process the first time, 5 each time, and not before 3 did."""
    while number == 5 and not (folder / "3").exists():
        time.sleep(0.01)
    if number in (3, 5):
        tried = folder / str(number)
        first = not tried.exists()
        tried.touch()
        if first or number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def fails(number: int) -> int:
    raise ValueError(f"{number} is bad")


@pytest.mark.process
def test_a_killed_process_costs_only_its_shard(tmp_path: Path) -> None:
    found = dict(map_shards(partial(square, tmp_path), range(20), Engine(2)))
    assert found == {n: None if n == 5 else n * n for n in range(20)}


@pytest.mark.process
def test_shards_are_taken_as_they_are_needed(tmp_path: Path) -> None:
    taken: list[int] = []

    def work() -> object:
        for number in range(100, 200):
            taken.append(number)
            yield number

    results = map_shards(partial(square, tmp_path), work(), Engine(2))  # type: ignore[arg-type]
    next(results)
    assert len(taken) < 20
    assert len(list(results)) == 99


@pytest.mark.process
@pytest.mark.parametrize("processes", [1, 2])
def test_what_the_function_raises_is_raised(processes: int) -> None:
    with pytest.raises(ValueError, match="is bad"):
        list(map_shards(fails, range(3), Engine(processes)))


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("local", Engine(3)),
        ("ray", Engine(3, "auto")),
        ("ray://head:10001", Engine(3, "ray://head:10001")),
    ],
)
def test_names(name: str, engine: Engine) -> None:
    assert Engine.named(name, 3) == engine


@pytest.mark.parametrize("name", ["", "rays", "ray://", "ray:", "spark", "ray://a b"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="expected local, ray or ray://"):
        Engine.named(name, 1)


def test_a_worker_elsewhere_says_what_it_does_not_see(tmp_path: Path) -> None:
    own = str(Path.cwd()), version("unhang")
    gone = str(tmp_path / "gone.log")
    seen = on_ray._run(*own, fails, 1, [str(tmp_path), gone])
    assert isinstance(seen, on_ray._NotThere)
    assert seen.path == gone


def test_a_worker_elsewhere_must_have_the_same_release() -> None:
    with pytest.raises(UsageError, match=r"has unhang .*, this is 9\.9\.9"):
        on_ray._run("/", "9.9.9", fails, 1, [])


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match="pip install ray"):
        list(map_shards(fails, [1], Engine(ray="auto")))
