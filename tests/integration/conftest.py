"""Tests that start jobs run beside each other: each goes to the worker that is free."""

from __future__ import annotations

from pathlib import PurePath

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

TOGETHER = frozenset(
    {"test_html_report", "test_live_judgement", "test_plan", "test_recipes_run", "test_slurm"}
)
"""Files whose tests share what is costly to begin."""


class OneByOne(LoadScopeScheduling):  # type: ignore[misc]
    """As `--dist loadgroup` means it, which does not work with pytest 9.2."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return path if PurePath(path).stem in TOGETHER else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> OneByOne:
    """The scheduler of `pytest tests/integration -n …`."""
    return OneByOne(config, log)
