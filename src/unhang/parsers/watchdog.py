"""From ProcessGroupNCCL watchdog lines to time-outs, group status and aborts.

Reads (torch 1.9 to 2.13)::

    [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=…
    [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808, OpType=ALLREDUCE,
        NumelIn=9801523, NumelOut=9801523, Timeout(ms)=600000) ran for 600020 milliseconds before …
    Work WorkNCCL(SeqNum=3, …) timed out in blocking wait (TORCH_NCCL_BLOCKING_WAIT=1).
    [PG 1 Rank 1] Timeout at NCCL work: 46, last enqueued NCCL work: 46, last completed NCCL …
    [PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence id: 808
        PG status: last enqueued work: 811, last completed work: 807
    [PG 1 Rank 1] Process group watchdog thread terminated with exception: CUDA error: …

Traps: `[Rank 3]` is the rank within the group; the same sentence is printed up to three times
(on its own, inside "terminated with exception", inside `what():`), and only the second names the
group; `NumelIn` may be 2^64 - 1; the counters may be garbage (torch 2.3) or 2^64 - 1 for "none".
Repeats are all said: `assemble` removes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import (
    CollectiveTimeout,
    Event,
    GroupStatus,
    Teardown,
    WatchdogAborted,
)
from unhang.model.forms import named
from unhang.model.ids import SeqId
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.groups import find_speaker
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/watchdog.toml")
_TIMEOUT = _PATTERNS["timeout"]
_STATUS = _PATTERNS["status"]
_ABORTED = _PATTERNS["aborted"]
_WHY = (
    (Teardown.TIMEOUT, re.compile(r"operation\s*timeout|timed\s*out")),
    (Teardown.CUDA, re.compile(r"CUDA\s*(?:driver\s*)?error|device-side\s*assert")),
    (Teardown.NCCL, re.compile(r"NCCL\s*error|nccl[A-Z]\w*Error|NCCL\s*communicator")),
)
_GARBAGE = 1 << 62
_NONE_YET = 1 << 64
_FAR = 1_000_000


class WatchdogParser(LineParser, name="watchdog"):
    """Parser of watchdog lines."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the time-outs, counters and aborts that this line tells."""
        for match in line.sayings(_TIMEOUT, within=True):
            if _is_timeout(match):
                yield _timeout(line, match)
        for match in line.sayings(_STATUS, within=True):
            yield _status(line, match)
        for match in line.sayings(_ABORTED, within=True):
            speaker = find_speaker(line.text, match.start())
            yield WatchdogAborted(
                **place(line),
                reason=_reason(match["why"] or ""),
                group=speaker.group,
                group_rank=speaker.rank,
            )


def _is_timeout(match: re.Match[str]) -> bool:
    """Other sentences hold a `WorkNCCL(…)` too, such as "raised the following async exception".

    The alarm may stand on a line of its own, or be cut off.
    """
    if match["other"] is not None:
        return False
    return match["alarm"] is not None or match["timeout"] is not None


def _timeout(line: Line, match: re.Match[str]) -> CollectiveTimeout:
    speaker = find_speaker(line.text, match.start())
    bare = find_speaker(line.text[max(0, match.start() - 24) : match.start()])
    alarm = match["alarm"] or ""
    return CollectiveTimeout(
        **place(line),
        group_rank=speaker.rank if bare.rank is None else bare.rank,
        group=speaker.group,
        seq=_seq(match["seq"]),
        op=match["op"],
        shape=_shape(match["shape"]),
        numel_in=_count(match["numel_in"]),
        numel_out=_count(match["numel_out"]),
        timeout_ms=None if match["timeout"] is None else int(match["timeout"]),
        elapsed_ms=None if match["elapsed"] is None else int(match["elapsed"]),
        blocking=match["blocking"] is not None or alarm.startswith(("Caught", "caught")),
    )


def _status(line: Line, match: re.Match[str]) -> GroupStatus:
    speaker = find_speaker(line.text, match.start())
    failed = _counter(match["failed"])
    enqueued = _counter(match["enqueued"])
    completed = _counter(match["completed"])
    if failed is not None and enqueued is not None and not 0 <= enqueued - failed < _FAR:
        enqueued = None
    if completed is not None and failed is not None and completed > max(failed, enqueued or 0):
        completed = None
    return GroupStatus(
        **place(line),
        group_rank=speaker.rank,
        group=speaker.group,
        failed=None if failed is None else SeqId(failed),
        enqueued=enqueued,
        completed=completed,
    )


def _reason(text: str) -> Teardown:
    """What took the watchdog down; `OTHER` where the line does not tell."""
    return next((reason for reason, sign in _WHY if sign.search(text)), Teardown.OTHER)


def _seq(text: str | None) -> SeqId | None:
    number = _count(text)
    return None if number is None else SeqId(number)


def _count(text: str | None) -> int | None:
    """A number of elements; None for absent or garbage values."""
    if text is None or int(text) >= _GARBAGE:
        return None
    return int(text)


def _counter(text: str | None) -> int | None:
    """A work counter: -1 = none yet, also where it was printed unsigned; None for garbage."""
    if text is None:
        return None
    number = int(text)
    if number == _NONE_YET - 1:
        return -1
    return number if -1 <= number < _GARBAGE else None


def _shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    return tuple(int(size) for size in re.findall(r"\d{1,18}", text))
