"""Whether a rank has rested for longer than it usually does.

A snapshot of a healthy job always shows some rank a few calls behind the others. Where the time of
the dump is known, a rank counts only when it has issued nothing for much longer than it used to
at this place of its program. Dumps without a time were taken after the job had come to rest.
"""

from __future__ import annotations

from unhang.model.recording import Recording

_USUAL = 3.0
_LEAST_S = 0.01
_UNKNOWN_S = 10.0
"""For a rank whose few calls do not show what is usual."""


def is_overdue(recording: Recording) -> bool:
    """Whether the rank has rested longer than usual; also where nothing tells the time."""
    rested = rested_s(recording)
    usual_s = _UNKNOWN_S if recording.pause_s is None else _USUAL * recording.pause_s
    return rested is None or rested > max(_LEAST_S, usual_s)


def rested_s(recording: Recording) -> float | None:
    """How long before its dump a rank issued its last call, in seconds; None: nothing tells."""
    if recording.taken_s is None or recording.last is None or recording.last.created_s is None:
        return None
    return max(0.0, recording.taken_s - recording.last.created_s)
