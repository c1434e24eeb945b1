"""What a program says of itself, as the probe keeps it for the next beat."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading

import pytest

import unhang
from unhang.probe import declared, steps


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe is there, under the name that it has in a watched process."""
    monkeypatch.setitem(sys.modules, "_unhang_probe.declared", declared)
    monkeypatch.setattr(declared, "_phases", [])
    monkeypatch.setattr(steps, "COUNT", steps.Steps())


@pytest.mark.usefixtures("watched")
def test_the_innermost_phase_is_told_and_ends_with_its_context() -> None:
    with unhang.phase("train"):
        with contextlib.suppress(ZeroDivisionError), unhang.phase("save"):
            assert declared.phase() == "save"
            _ = 1 // 0
        assert declared.phase() == "train"
    assert declared.phase() is None


@pytest.mark.usefixtures("watched")
def test_a_thread_beside_the_main_one_is_in_no_phase() -> None:
    with unhang.phase("train"):
        saver = threading.Thread(target=unhang.phase("save").__enter__)
        saver.start()
        saver.join()
        assert declared.phase() == "train"


@pytest.mark.usefixtures("watched")
def test_steps_count_from_where_a_program_went_on() -> None:
    for number in (5_000, 5_001, 5_004, 5_002, None):
        unhang.step(number)
    assert steps.COUNT.done == 1 + 1 + 3 + 1 + 1
    assert steps.COUNT.attached
    assert steps.COUNT.wall_s is not None


def test_a_declared_step_is_not_counted_again_by_the_optimizer() -> None:
    class Optimizers:
        """Stands in for `torch.optim.optimizer`."""

        def register_optimizer_step_post_hook(self, hook: object) -> None:
            self.hook = hook

    torch = pytest.importorskip("torch")
    assert torch
    optimizers, count = Optimizers(), steps.Steps()
    count.attach(optimizers)
    optimizers.hook()  # type: ignore[operator]
    count.declare(None)
    optimizers.hook()  # type: ignore[operator]
    assert count.done == 2


@pytest.mark.process
def test_without_a_judge_nothing_is_imported_and_nothing_kept() -> None:
    program = """
import sys
import unhang
before = set(sys.modules)
with unhang.phase("save") as nothing:
    unhang.step(3)
assert nothing is None
print(sorted(set(sys.modules) - before))
print([name for name in sys.modules if name.startswith(("unhang.probe", "torch"))])
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"], done.stderr
