"""From the lines around the trouble of a log to whether somebody introduces it there.

A job that trains on texts, tests its parsers or greets with known problems shows failures of
others on lines of their own. Where much work follows, that tells; at the end of a running log only
the lines around it do. Two of them are of a form:

- a line that tells of no trouble and counts nothing *leads to* it. Programs print such lines before
  they fail as well, so that this alone says nothing;
- the voice in front of it speaks again behind it, and says something else. It *encloses* the text::

      preflight: one line from before the last boot
      Fatal Python error: Segmentation fault
      preflight: passed

Traps: ranks share a log, and one counts on while another fails, so the two lines must differ in
more than numbers; helpers of a process (`wandb: `) sum up when it has failed, so the voice must be
a new one; all that follows must tell of no trouble either. It is asked only where a verdict would
hold something against the job.
"""

from __future__ import annotations

from itertools import dropwhile

from unhang import lazy_re as re
from unhang.engine.rereading import end_of
from unhang.model.incident import Introduced
from unhang.sources.artifact import Artifact
from unhang.sources.clean import clean
from unhang.sources.context import is_work
from unhang.sources.peel import peel
from unhang.sources.showing import TELLS, is_calm

_LARGEST = 64 << 20
_LONGEST = 400
_MOST_AROUND = 200
"""Lines above and below that are looked at."""
_MOST_BELOW = 40
"""Lines of other voices below what is shown; more are a log of their own."""
_VOICE = re.compile(r"[A-Za-z][\w-]{2,24}(?: [a-z][\w-]{1,24}){0,2}: (?=\S)")
_DIGITS = re.compile(r"\d+")


def introduced(artifact: Artifact, first: int, last: int) -> Introduced | None:
    """Who introduces the trouble of an artifact. Never raises on any bytes.

    Args:
        artifact: that can be opened again.
        first: the line of the first trouble that it tells of.
        last: that of the last one.
    """
    try:
        with artifact.open() as stream:
            data = stream.read(_LARGEST)
    except Exception:  # what could not be read was told of when it was read first
        return None
    begin = end_of(data, first - 1)
    end = None if begin is None else end_of(data + b"\n", last)
    if begin is None or end is None:
        return None
    earlier = data[:begin].rsplit(b"\n", _MOST_AROUND)[-_MOST_AROUND:]
    above = next((line for line in reversed(_texts(earlier)) if not _is_of_trouble(line)), "")
    if not _is_plain(above):
        return None
    below = [line for line in _texts(data[end:].split(b"\n", _MOST_AROUND)) if line.strip()]
    below = list(dropwhile(_is_of_trouble, below))
    voice = _VOICE.match(above)
    if voice is not None and data[begin:end].startswith(voice[0].encode()):
        return None  # who prints the trouble itself: a label that a collector puts before its lines
    if voice is None or not below or len(below) > _MOST_BELOW or not all(map(_is_plain, below)):
        return Introduced.LED_TO
    again = below[0]
    encloses = (
        again.startswith(voice[0])
        and _DIGITS.sub("0", again) != _DIGITS.sub("0", above)
        and (b"\n" + data[:begin]).count(b"\n" + voice[0].encode()) == 1
    )
    return Introduced.ENCLOSED if encloses else Introduced.LED_TO


def _texts(lines: list[bytes]) -> list[str]:
    return [clean(line[:_LONGEST].decode("utf-8", "replace")) for line in lines]


def _is_of_trouble(line: str) -> bool:
    """Whether a line is one of those that tell of trouble, or part of their message."""
    if not line.strip() or line[:1].isspace() or "(most recent call " in line:
        return True
    voice = _VOICE.match(line) is not None  # a program's name may stand in front of its failure
    return TELLS.search(line) is not None if voice else not is_calm(line)


def _is_plain(line: str) -> bool:
    """Whether it is a message that counts nothing, in no logger's form, and tells of no trouble."""
    message = next(peel(line), None)
    told = message is None or message.header is not None or message.at is not None
    return not (told or is_work(line) or _is_of_trouble(line))
