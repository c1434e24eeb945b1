"""From incidents to findings: one file per rule, found by its decorator; `RULES` lists them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from unhang.model.rule import Rule


def _found() -> Iterator[Rule]:
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        check = getattr(importlib.import_module(module.name), "check", None)
        if isinstance(check, Rule) and check.check.__module__ == module.name:
            yield check


RULES: tuple[Rule, ...] = tuple(sorted(_found(), key=lambda rule: rule.code))
"""Every rule, ordered by code."""
