"""The texts of NCCL, of its plugins and of UCX, each with what it says (`data/nccl_texts.toml`)."""

from __future__ import annotations

from unhang import lazy_re as re
from unhang.model.events import NcclReason
from unhang.model.toml import load


def pattern(*texts: str) -> re.Pattern[str]:
    """One pattern for several texts in which a blank stands for any or no white space."""
    return re.compile("|".join(text.replace(" ", r"\s*") for text in texts), re.IGNORECASE)


_DATA = load("unhang.parsers.vocabulary", "data/nccl_texts.toml")

NOISE = pattern(*_DATA["noise"])
"""Printed in healthy jobs, or left behind by a fall-back that worked."""

FOLLOW_UP = pattern(*_DATA["follow_up"])
"""Somebody else's failure as the proxy of this process saw it."""

TEXTS: tuple[tuple[NcclReason, re.Pattern[str]], ...] = tuple(
    (NcclReason(row["reason"]), pattern(*row["texts"])) for row in _DATA["texts"]
)
"""By text, first hit wins: more special texts stand before more general ones."""
