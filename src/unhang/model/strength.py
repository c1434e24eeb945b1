"""How far evidence carries a statement."""

from __future__ import annotations

import enum


class Strength(enum.Enum):
    """How far the evidence carries the summary sentence."""

    PROVES = "proves"
    SUPPORTS = "supports"
    HINTS = "hints"
