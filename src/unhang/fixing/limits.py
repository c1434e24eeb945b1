"""No fix makes a timeout shorter than the one that stands in the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from unhang.fixing.refusal import Refusal
from unhang.fixing.requested_settings import RequestedSetting
from unhang.model.diagnosis import Fix

Guard: TypeAlias = Callable[[str], None]
"""Is told the value that a setting has, before another one takes its place; may refuse."""

_CLOCK = re.compile(r"(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9})")


def accept(_: str) -> None:
    """Let any value be replaced."""


def guard_limit(fix: Fix, request: RequestedSetting) -> Guard:
    """Refuse to lower a timeout: the longer one in the file did not help."""
    wanted = _number(str(request.value))
    if "timeout" not in request.name.lower() or wanted is None:
        return accept

    def guard(old: str) -> None:
        present = _number(old)
        if present is not None and present > wanted:
            raise Refusal(
                f"`{request.name}` is {old} there already, more than the {request.value} of the"
                " fix: it was not in force for the group that timed out (this fix reaches"
                f" {fix.reaches})"
            )

    return guard


def _number(text: str) -> float | None:
    """A plain number, or hours, minutes and seconds."""
    plain = text.strip().strip("\"'")
    clock = _CLOCK.fullmatch(plain)
    if clock is not None:
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return hours * 3_600 + minutes * 60 + seconds
    try:
        return float(plain)
    except ValueError:
        return None
