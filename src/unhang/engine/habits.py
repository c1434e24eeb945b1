"""From the lines that a job prints again and again to whether it went on printing them.

A server that answers one request with an error logs the traceback and answers the next; a loop
whose upload failed goes on with the next round. Such work need not count anything: rates, sizes and
rewards vary from line to line, and nothing rises. What tells is the job's own habit: lines of one
shape that stood before the trouble stand after it, with new numbers, at a later time.

Traps: a stream that is written in blocks comes out after the traceback of a process that is dead,
so only a later time, or more text than a buffer holds, shows life; monitors, heartbeats and
requests for a status go on without the job.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import islice

from unhang import lazy_re as re
from unhang.engine.rereading import Around
from unhang.model.events import Progress
from unhang.model.events.lifecycle import LONG_AT_WORK, STATES_OF_WORK
from unhang.model.time import Instant
from unhang.parsers.base import place
from unhang.sources.artifact import Artifact
from unhang.sources.context import ContextReader, LineContext
from unhang.sources.line import Line
from unhang.sources.plan import Wanted
from unhang.sources.select import select

_WANTED = (Wanted(needles=tuple("0123456789"), before=0),)
_BUFFER = 8 << 10
"""Bytes that a stream holds back at most."""
_LEAST = min(STATES_OF_WORK, LONG_AT_WORK)
_LATER_S = 30.0
_LOGGED = re.compile(r"\W*(?:\S+ ){0,4}?\W?(?:INFO|DEBUG)\b")
"""Loggers write each record through."""
_MOST_SHAPES, _LONGEST = 1_024, 400
_CLOCK = re.compile(r"\d{1,4}(?:[-/:.]\d{1,4}){2,}(?:[:.,]\d+)?")
"""A date, a time or an address: it differs although nothing is done."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ANSWERED = re.compile(r"\b(?:POST|PUT) \S{1,200} HTTP/[\d.]{1,4}\"? 2\d\d\b")
_ANSWER = "answered"
_OF_WORK = re.compile(
    r"loss|nll|ppl|perplex|acc\b|accuracy|reward|(?<![a-z])lr(?![a-z])|grad|tok(?:en)?s?\b|sample"
    r"|throughput|\b(?:step|iter|epoch|batch|updat|episode|round|rollout|generat)|requests?\b|reqs?\b"
    r"|损失|步|轮|迭代|批|吞吐|请求",
    re.IGNORECASE,
)
_NO_WORK = re.compile(
    r"time[ds]?[ -]?out|watchdog|abort|error|exception|terminat|kill|\bexit|fail|fatal|refused"
    r"|broken|warn|heart-?beat|\balive\b|\bidle\b|stuck|stall|hang|hung|no (?:new|progress|output)"
    r"|\btemp\b|watt|still (?:in|at)\b|\bwait\w*(?!\w|\s?[:=]\s?\d)|barrier|blocked|attempt"
    r"|retr[yi]|elapsed since|uptime|monitor|health|traceback|超时|错误|异常|失败|等待|重试",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Habit:
    """Lines that differ in numbers alone: the numbers that came before, and the lines since."""

    before: set[tuple[str, ...]] = field(default_factory=set)
    since: dict[tuple[str, ...], Line] = field(default_factory=dict)


def habits_kept(artifact: Artifact, after: int, around: Around) -> Iterator[Progress]:
    """Yield a state of work for each line by which a job went on as it did before.

    Args:
        artifact: what is read. Never raises on any bytes.
        after: the line at which the trouble ends.
        around: what stands before that, and after it.
    """
    try:
        if not around.after or _hardly_works(artifact, around.after):
            return
        habits: dict[tuple[object, str], _Habit] = {}
        told: Instant | None = None
        for line in _lines(artifact, around.before, 0):
            found = _work(line)
            if found is not None and len(habits) < _MOST_SHAPES:
                habits.setdefault(found[0], _Habit()).before.add(found[1])
            if line.at is not None:
                told = line.at if found is None and _is_trouble(line) else None
        for line in _lines(artifact, around.after, after):
            found = _work(line)
            if found is not None and (found[0] in habits or len(habits) < _MOST_SHAPES):
                habit = habits.setdefault(found[0], _Habit())
                if found[1] not in habit.before:
                    habit.since.setdefault(found[1], line)
        for (_, shape), habit in habits.items():
            for number, line in enumerate(_shown(habit, shape == _ANSWER, told)):
                yield Progress(**place(line), label=shape[:80], done=number)
    except Exception:  # what could not be read was told of when it was read first
        return


def _hardly_works(artifact: Artifact, data: bytes) -> bool:
    """Whether fewer lines tell of work than any habit needs: most logs end with their trouble."""
    works = (line for line in _lines(artifact, data, 0) if _work(line) is not None)
    return len(list(islice(works, _LEAST))) < _LEAST


def _lines(artifact: Artifact, data: bytes, before: int) -> Iterator[Line]:
    part = replace(artifact, open=lambda: BytesIO(data))
    for line, _ in select(part, _WANTED, contexts=ContextReader()):
        yield replace(line, number=line.number + before)


def _work(line: Line) -> tuple[tuple[object, str], tuple[str, ...]] | None:
    """The shape of a line that tells of work, and its numbers; else None."""
    text = line.text[:_LONGEST]
    if line.context is not LineContext.MESSAGE or _is_trouble(line):
        return None
    if _ANSWERED.search(text) is not None:
        return (line.origin, _ANSWER), tuple(_NUMBER.findall(text))
    if _OF_WORK.search(text) is None:
        return None
    text = _CLOCK.sub("", text)
    numbers = tuple(_NUMBER.findall(text))
    return ((line.origin, _NUMBER.sub("0", text)), numbers) if numbers else None


def _is_trouble(line: Line) -> bool:
    by_level = line.header is not None and line.header.severity in ("W", "E", "F")
    return by_level or _NO_WORK.search(line.raw[:_LONGEST]) is not None


def _shown(habit: _Habit, answers: bool, told: Instant | None) -> list[Line]:
    """The lines since that no dead process can have printed, where they are many enough."""
    known = answers or len(habit.before) >= STATES_OF_WORK
    since = list(habit.since.values())
    gaps = [line.at.since(told) for line in since if told is not None and line.at is not None]
    if any(gaps):
        least = STATES_OF_WORK if known else LONG_AT_WORK
        return since if len(since) >= least and max(filter(None, gaps)) >= _LATER_S else []
    size = sum(len(line.raw) + 1 for line in since)
    flushed = size > _BUFFER or all(_LOGGED.match(line.raw) for line in since)
    least = STATES_OF_WORK if answers else LONG_AT_WORK
    return since if len(since) >= least and flushed else []
