"""Which Python processes below `unhang run` count as ranks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from unhang.probe import environment
from unhang.probe.arrival import is_launcher, is_rank

PACKAGE = Path(environment.__file__).parent
RANK = {"RANK": "3", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "a"}
TRAIN = ["python", "train.py"]


@pytest.mark.parametrize(
    "command",
    [
        "python -m torch.distributed.run train.py",
        "python -u -m torch.distributed.launch train.py",
        "/opt/env/bin/python /opt/env/bin/torchrun --nnodes 2 train.py",
        "python /opt/env/bin/accelerate launch train.py",
        "python -m deepspeed.launcher.launch train.py",
    ],
)
def test_launchers_are_no_ranks(command: str) -> None:
    assert is_launcher(command.split())
    assert not is_rank(RANK, 7, command.split())


@pytest.mark.parametrize(
    "command",
    ["python train.py", "python -u train.py", "python -m trainer.run", "python -c pass", "python"],
)
def test_programs_are(command: str) -> None:
    assert not is_launcher(command.split())
    assert is_rank(RANK, 7, command.split())


def test_a_child_that_inherits_the_rank_of_its_parent_is_none() -> None:
    inherited = {**RANK, "UNHANG_OWNER": "7 3/1/a/"}
    assert not is_rank(inherited, 8, TRAIN)
    assert is_rank(inherited, 7, TRAIN)  # the parent itself, after an exec


def test_a_rank_below_a_launcher_that_had_a_rank_is_one() -> None:
    below = {**RANK, "UNHANG_OWNER": "7 0///"}
    assert is_rank(below, 8, TRAIN)


def test_old_pythons_can_read_it() -> None:
    for path in PACKAGE.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_it_imports_nothing_but_the_standard_library_and_itself() -> None:
    import sys

    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            assert all(name.split(".")[0] in sys.stdlib_module_names for name in names), path
