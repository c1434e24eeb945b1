"""Settings that change one thing, and what is at fault where they cure a hang."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from unhang import lazy_re as re
from unhang.model.causes import Cause
from unhang.model.toml import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a setting tells by curing a hang.

    Attributes:
        value: values that tell it.
    """

    value: re.Pattern[str]
    cause: Cause


@cache
def trials() -> dict[str, Trial]:
    """All of them by the setting's name."""
    rows = load("unhang.settings", "data/trials.toml")
    return {
        name: Trial(value=re.compile(row["value"]), cause=Cause(row["cause"]))
        for name, row in rows.items()
    }
