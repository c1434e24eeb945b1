"""Whether ranks that are in one call by its number are in different places of the program."""

from __future__ import annotations

from unhang import lazy_re as re
from unhang.model.events import ExceptionKind, Frame, LastLine, PythonException
from unhang.model.ids import Ranks
from unhang.model.incident import Incident

_VOICES = 2
_NAMES = re.compile(r"[-+]?\d[\d.,:e+-]*")
_INSTALLED = re.compile(r"(?:site|dist)-packages|[/\\\\]lib[/\\\\]python\d|^<")


_GAVE_UP = frozenset({ExceptionKind.COLLECTIVE, ExceptionKind.MISMATCH})


def parted(incident: Incident, odd: Ranks) -> bool:
    """Whether ranks were in different places of the program: then not its model differs.

    Args:
        incident: the job.
        odd: the ranks whose call has another size.
    """
    return _code_differs(incident) or _words_differ(incident, odd)


def _code_differs(incident: Incident) -> bool:
    """Whether ranks gave up at different lines of the program: then not its model differs."""
    own = {
        (frame.file, frame.line)
        for error in incident.all(PythonException)
        if error.kind in _GAVE_UP and error.origin.rank is not None
        if (frame := _own_frame(error)) is not None
    }
    return len(own) > 1


def _words_differ(incident: Incident, odd: Ranks) -> bool:
    """Whether the last words of the odd ranks differ from those that all the others share."""
    last = {line.origin.rank: _NAMES.sub("#", line.source.text) for line in incident.all(LastLine)}
    others = [words for rank, words in last.items() if rank is not None and rank not in odd]
    mine = {words for rank, words in last.items() if rank in odd}
    shared = len(others) >= _VOICES and len(set(others)) == 1
    return shared and len(mine) > 0 and mine.isdisjoint(others)


def _own_frame(error: PythonException) -> Frame | None:
    """The innermost line that the user wrote."""
    return next((f for f in reversed(error.frames) if not _INSTALLED.search(f.file)), None)
