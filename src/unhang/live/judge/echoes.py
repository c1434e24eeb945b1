"""Whether a rank failed only because another one did."""

from __future__ import annotations

from unhang.live.judge.track import Track
from unhang.model.events import ExceptionKind, Frame
from unhang.parsers.vocabulary.exceptions import classify_exception

_SIGTERM = 15
_SECOND_HAND = frozenset(
    {
        ExceptionKind.COLLECTIVE,
        ExceptionKind.TERMINATED,
        ExceptionKind.INTERRUPTED,
        ExceptionKind.CHILD,
    }
)


def second_hand(track: Track) -> bool:
    """Whether its collective, or its launcher, says so."""
    return raised_second_hand(track) or sent_away(track)


def sent_away(track: Track) -> bool:
    """Whether it was told to end, most often with all the others."""
    return track.beat.exception is None and track.facts.signal == _SIGTERM


def raised_second_hand(track: Track) -> bool:
    """Whether the exception that ends it speaks of other ranks."""
    raised = track.beat.exception
    if raised is None:
        return False
    frames = [Frame(file=f.file, line=f.line, function=f.function) for f in reversed(raised.stack)]
    name = raised.type.rpartition(".")[2]
    return classify_exception(name, raised.message, frames) in _SECOND_HAND
