"""No fix makes a timeout shorter than the one that stands in the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from unhang import lazy_re as re
from unhang.fixing.refusal import Refusal
from unhang.fixing.requested_settings import RequestedSetting
from unhang.model.diagnosis import Fix
from unhang.settings import timeout_knobs
from unhang.settings.lookup import bare

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
                f"`{request.name}` is already {old} there, more than the {request.value} of the"
                " fix: it was not in force for the group that timed out (this fix reaches"
                f" {fix.reaches})"
            )

    return guard


def refuse_shorter_than_default(fix: Fix, request: RequestedSetting, present: str | None) -> None:
    """Refuse a timeout that is shorter than what the release has where nobody sets it.

    Raises:
        Refusal: the default is longer, so that another limit ran out.
    """
    wanted = _number(str(request.value))
    if present is not None or wanted is None or "timeout" not in request.name.lower():
        return
    for knob in timeout_knobs(fix.framework, fix.version):
        default = knob.default_in(fix.version) or knob.default_s
        if bare(knob.key) != bare(request.name) or knob.unit != "s" or default is None:
            continue
        if default > wanted:
            raise Refusal(
                f"`{request.name}` is not set here, and {fix.framework}'s default of {default} is"
                f" longer than the {request.value} of the fix: another limit ran out"
            )


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
