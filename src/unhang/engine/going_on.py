"""From all lines of an artifact to the work that its lines count, whatever their words are.

Who prints `upd=3 of 120 nll=4.97`, `第 3/120 步 损失 4.97` or a row for each epoch is at work:
lines of one shape follow each other, one number rises, and others vary. Such lines are looked for
only where a verdict would hold something against the job, and only after what it holds: reading
every line takes longer than reading those that a parser knows.

Traps: what a clock prints rises as well (`no progress for 120 s`, `gpu 3 util 99 %`, a stall
report again and again), and so do attempts to connect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO

from unhang import lazy_re as re
from unhang.model.events import Progress
from unhang.parsers.base import place
from unhang.sources.artifact import Artifact
from unhang.sources.context import ContextReader, LineContext
from unhang.sources.line import Line
from unhang.sources.plan import Wanted
from unhang.sources.select import select

_WANTED = (Wanted(needles=tuple("0123456789"), before=0),)
_MOST_SHAPES, _MOST_STATES, _LONGEST = 4_096, 200, 400
_AGAIN = 3
"""Lines of one shape whose number rises: from here on they count something."""
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,12})?(?:[eE][-+]?\d{1,3})?")
_DIGITS = re.compile(r"\d+")
_BAR = re.compile(r"[=>.#█▏▎▍▌▋▊▉░▒▓━╸╺╍▰▱ -]{2,}")
_OF_WORK = re.compile(
    r"loss|nll|ppl|perplex|acc\b|accuracy|reward|learning|(?<![a-z])lr(?![a-z])|grad|tok(?:en)?s?\b"
    r"|sample|throughput|step|iter|epoch|batch|updat|(?<![a-z])upd|episode|round"
    r"|损失|步|轮|迭代|批",
    re.IGNORECASE,
)
_NO_WORK = re.compile(
    r"time[ds]?[ -]?out|watchdog|abort|error|exception|terminat|kill|\bexit|fail|fatal|refused"
    r"|broken|warn|heart-?beat|\balive\b|\bidle\b|stuck|stall|hang|hung|no (?:new|progress|output)"
    r"|util|\btemp\b|watt|memory usage|still (?:in|at)\b|\bwait|barrier|blocked|attempt|retr[yi]"
    r"|elapsed since|uptime|\bray::\w|超时|错误|异常|失败|等待|重试",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Shape:
    """Lines that differ in numbers alone.

    Attributes:
        last: the numbers of the last one.
        rising: places of whole numbers that rose from each of them to the next.
        constant: places of those that never changed.
        seen: how many there were.
    """

    last: list[float]
    rising: set[int] = field(default_factory=set)
    constant: set[int] = field(default_factory=set)
    seen: int = 1

    def count(self, numbers: list[float]) -> tuple[int, int | None] | None:
        """How far it is, and of how many, if this line goes on counting; else it begins anew."""
        first = self.seen == 1
        grown = {i for i, n in enumerate(numbers) if n > self.last[i] and n.is_integer()}
        same = {i for i, n in enumerate(numbers) if n == self.last[i]}
        self.rising = grown if first else self.rising & grown
        self.constant = same if first else self.constant & same
        self.last = numbers
        self.seen = self.seen + 1 if self.rising else 1
        if not self.rising or self.seen < _AGAIN:
            return None
        place = min(self.rising)
        done = numbers[place]
        wholes = (numbers[i] for i in sorted(self.constant) if i > place)
        total = next((n for n in wholes if n.is_integer() and n >= done), None)
        return int(done), None if total is None else int(total)


def work_in(artifact: Artifact, after: int, data: bytes) -> Iterator[Progress]:
    """Yield the states of work that lines of one shape count. Never raises on any bytes.

    Args:
        artifact: what is read.
        after: the lines from its beginning that are passed over.
        data: what follows them.
    """
    if data.count(b"\n") < _AGAIN:
        return
    shapes: dict[tuple[object, str], _Shape] = {}
    told = 0
    try:
        rest = replace(artifact, open=lambda: BytesIO(data))
        for line, _ in select(rest, _WANTED, contexts=ContextReader()):
            state = _state(replace(line, number=line.number + after), shapes)
            if state is not None:
                yield state
                told += 1
                if told >= _MOST_STATES:
                    return
    except Exception:  # what could not be read was told of when it was read first
        return


def _state(line: Line, shapes: dict[tuple[object, str], _Shape]) -> Progress | None:
    """What a line counts, or None."""
    text = line.text[:_LONGEST]
    by_level = line.header is not None and line.header.severity in ("W", "E", "F")
    if line.context is not LineContext.MESSAGE or by_level or _NO_WORK.search(text):
        return None
    numbers = [float(found) for found in _NUMBER.findall(text)]
    if len(numbers) < 2:
        return None
    key = line.origin.rank, _BAR.sub(" ", _DIGITS.sub("0", text))
    shape = shapes.get(key)
    if shape is None or len(shape.last) != len(numbers):
        if len(shapes) < _MOST_SHAPES:
            shapes[key] = _Shape(numbers)
        return None
    counted = shape.count(numbers)
    if counted is None or (counted[1] is None and _OF_WORK.search(text) is None):
        return None
    return Progress(**place(line), label="", done=counted[0], total=counted[1])
