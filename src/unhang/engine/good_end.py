"""From the lines around the words of a good end to whether they bear it out.

That a job ended well is told in many words, and not all who say so speak for the job: a script
prints `done` whatever its program did, a stage ends and the next one fails in words that nobody
knows, one of several pods completes. So the text around the words is read once more. Nothing below
them may look like a failure, begin another command, or announce work that no line ends; nothing
between the last work and them may look like a failure; and no row of a scheduler's table may tell
of a part that failed, or still runs.

Traps: processes that are torn down complain (`Exception ignored in: …`), and counters of errors
that are zero look like errors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from unhang import lazy_re as re
from unhang.engine.rereading import Around, text_of
from unhang.model.forms import named
from unhang.parsers.unread_lines import weigh_text
from unhang.parsers.vocabulary import python_text
from unhang.sources.context import is_work
from unhang.sources.peel import peel

_PATTERNS = named("unhang.engine", "data/good_end.toml")
_COMMAND = _PATTERNS["command"]
_IDLE = _PATTERNS["idle"]
_ROW = _PATTERNS["row"]
_BEGINS = _PATTERNS["begins"]
_BROKEN_OFF = _PATTERNS["broken_off"]
_FRAME = re.compile(r"\s|Traceback \(most recent call last\)|$")
_MOST_BELOW = 400
"""Lines below a good end; more are a run of their own."""
_MOST_ABOVE = 40
_LONGEST = 600
_GIVEN_UP = 2
"""Weight of a line that says more than that something went wrong."""


def bears_out(
    around: Around, line: int, known: Collection[int], begins: int, *, whole_job: bool
) -> bool:
    """Whether the text around the words of a good end says nothing else.

    Args:
        around: what stands before the end of their line, and after it.
        line: its number.
        known: numbers of lines that were understood, and judged with the rest.
        begins: the line at which its attempt begins.
        whole_job: they speak for the whole job, so that trouble above them was outlived.
    """
    below = around.after.split(b"\n", _MOST_BELOW)
    if len(below) > _MOST_BELOW or any(map(_tells_of_a_part, (around.before, around.after))):
        return False
    last = ""
    for text, severe in _messages(below, line, known):
        if _begins_a_command(text) or weigh_text(text, severe=severe) or _BROKEN_OFF.search(text):
            return False
        last = text
    if _BEGINS.match(last):
        return False
    above = min(_MOST_ABOVE, line - begins + 2)
    return whole_job or not _gave_up_before(around.before.split(b"\n")[-above:-2])


def _messages(lines: list[bytes], above: int, known: Collection[int]) -> Iterator[tuple[str, bool]]:
    """What the lines say, and whether at the level of an error, without what is torn down."""
    ignored = False
    for number, raw in enumerate(lines, above + 1):
        text = text_of(raw, _LONGEST)
        if ignored:  # its traceback, and the last line of that
            ignored = _FRAME.match(text) is not None
            continue
        ignored = python_text.IGNORED.search(text) is not None
        if ignored or number in known or not text.strip():
            continue
        message = next(peel(text), None)
        header = None if message is None else message.header
        severe = header is not None and header.severity in ("E", "F")
        yield text if message is None else message.text, severe


def _gave_up_before(lines: list[bytes]) -> bool:
    """Whether something gave up between the last work and the words of the end."""
    for raw in reversed(lines):
        text = text_of(raw, _LONGEST)
        if is_work(text):
            return False
        if weigh_text(text, severe=False) >= _GIVEN_UP or _BROKEN_OFF.search(text):
            return True
    return False


def _begins_a_command(text: str) -> bool:
    command = _COMMAND.match(text)
    return command is not None and _IDLE.match(command["types"]) is None


def _tells_of_a_part(text: bytes) -> bool:
    """Whether a row of a table tells of a part of the job that did not end well."""
    return _ROW.search(text.decode("utf-8", "replace")) is not None
