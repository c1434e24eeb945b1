"""From incidents to findings: one file per rule; `RULES` lists them."""

from __future__ import annotations

from unhang.model.rule import Rule
from unhang.rules.desync.calls_differ import RULE as DSY001

RULES: tuple[Rule, ...] = (DSY001,)
"""Every rule, ordered by code."""
