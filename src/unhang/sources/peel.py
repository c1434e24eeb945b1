"""From a physical line to its messages: wrappers off, what they tell kept.

A payload carries up to four wrappers (a collector's, a launcher's, a scheduler's, the process's
own), outermost first. They are peeled until none matches; what they tell of rank, host, pid and
time goes into `Origin` and `Instant`. Several messages glued to one line are separated: a message
behind a progress bar, two watchdog messages in a row.

What stays in the text: leading blanks of a traceback, and everything that is the message's own,
such as `[Rank 3]` (it counts within a process group) and NCCL's `host:pid:tid [dev] NCCL INFO`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from unhang import lazy_re as re
from unhang.model.ids import Rank
from unhang.model.provenance import NOBODY, Origin
from unhang.model.time import Clock, Instant
from unhang.sources import stamps
from unhang.sources.first_of import FirstOf
from unhang.sources.headers import HEADERS, header
from unhang.sources.line import Header
from unhang.sources.voices import level_of, read_level, read_voice
from unhang.sources.wrappers import WRAPPERS

_MOST_WRAPPERS = 16
_MOST_MESSAGES = 64
_LARGEST_PID = 1 << 22
"""Python up to torch 2.4 printed a thread's address there."""

_SEPARATOR = r"(?: ?[|] ?(?![A-Z]{4,8} *\|)| - (?=\S)|: | ?)"
_TAGS = r"(?P<tags>(?: [A-Z]{2,4}\d+){1,6})?(?: [a-z_]{1,20}=[\w.:-]{1,40}){0,4}"
_SYSLOG = (
    r" (?P<host>[A-Za-z][\w.-]{0,120}) (?P<app>[\w./:-]{1,100}) (?:-|\d{1,9}) [\w.-]{1,40} "
    r"(?:-|\[[^\[\]]{0,400}\]) ?"
)
"""Host, program, process, message id and data of RFC 5424; the process is often the collector's."""
_HEADERS = FirstOf(HEADERS)
_WRAPPERS = FirstOf([wrapper.pattern for wrapper in WRAPPERS])
_TIMES = FirstOf(
    [
        re.compile(pattern)
        for pattern in (
            rf"<\d{{1,3}}>1 {stamps.ISO}{_SYSLOG}",
            *(
                rf"\[{stamp}[ ,|]{{1,3}}(?:rank[ =:#-]?|[rR])(?P<rank>\d{{1,6}})\]{_SEPARATOR}"
                for stamp in (stamps.ISO, stamps.SLASHED, stamps.NO_YEAR, stamps.CLOCK)
            ),
            rf"\[{stamps.ISO}{_TAGS}\]{_SEPARATOR}",
            rf"\(?{stamps.ISO}\)?(?![\w/]|:\d){_SEPARATOR}",
            rf"\[?{stamps.SLASHED}\]?(?![\w/]|:\d){_SEPARATOR}",
            rf"\[{stamps.NAMED}\](?:<std\w+>:)? ?",
            rf"{stamps.NAMED} (?P<host>[\w.-]{{1,80}}) (?=[\w./()-]{{1,60}}(?:\[\d+\])?: )",
            rf"{stamps.NAMED}(?:<std\w+>:?|:)? ?",
            rf"\[{stamps.EPOCH}\] ?",
            rf"(?:<\d{{1,2}}>)?\[{stamps.UPTIME}\] ?",
            rf"\[?{stamps.NO_YEAR}\]?(?![\w/]|:\d){_SEPARATOR}",
            rf"\[?{stamps.CLOCK}\]?(?![\w<,/]|:\d){_SEPARATOR}",
        )
    ]
)
_SYSLOG_HOST = re.compile(r"(?P<host>[A-Za-z][\w.-]{0,80}) (?=(?:kernel|[\w-]{1,40}\[\d+\]): )")
_RANK_OF_APP = re.compile(r"(?:^|[/.:_-])(?:global[_-]?)?rank[_-]?(?P<rank>\d{1,6})$")
_REPEATED = re.compile(r" ?\[repeated (\d{1,9})x across cluster\](?: \(Ray deduplicates .*)?\s*$")

_GLUED: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (word, re.compile(pattern))
    for word, pattern in (
        ("]:", r"(?:\[[A-Za-z][\w.-]{0,60}(?::\d{1,4}|\d)\]:){1,3} ?\[?"),
        (
            "] ",
            r"\[[EWIFV](?:\d{3,4} \d\d:\d\d:\d\d(?:\.\d{1,9})?)? [\w./-]{1,120}:\d{1,6}\] ",
        ),
        (
            "] ",
            r"[EWIF](?<!\w[EWIF])\d{4} \d\d:\d\d:\d\d\.\d{3,9} +\d+ [\w./-]{1,120}:\d{1,6}\] ",
        ),
        (" pid=", r"\([A-Za-z_]\w{0,80} pid=\d{1,9}(?:, ip=[\w.:-]{1,60})?\) "),
        (
            "] [",
            r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{3,6}\] "
            r"\[[A-Z]{4,8}\] \[[\w./-]{1,120}:\d{1,6}[:\]]",
        ),
        ("]Traceback", r"(?<=\])Traceback \(most recent call last\):"),
        ("^C", r"(?<=\^C)(?=\[|Traceback |[EWI]\d{4} \d\d:|\d{4}-\d\d-\d\d )"),
        ("%Traceback", r"(?<=%)Traceback \(most recent call last\):"),
    )
)
"""Messages that begin inside a line, each with what it cannot be without."""
_GLUED_NCCL = re.compile(
    r"(?<![\w.:-])(?:\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?\] )?"
    r"[A-Za-z][\w.-]{0,120}:\d{1,9}:\d{1,9} \[\d+\] (?:NCCL |\S{1,80} NCCL |\S{1,80} \(\w+\) NCCL )"
)
"""NCCL's message, which often is the whole line."""
_OF_NCCL = re.compile(r"[A-Za-z][\w.-]{0,120}:\d{1,9}:\d{1,9} \[\d+\] NCCL ")
"""NCCL's own header, which stays with the message: no wrapper stands behind its first character."""
_BAR = re.compile(r"(?:[A-Z][\w ]{0,40}: {1,3})?(?<!\d)\d{1,3}%\|")
"""A progress bar that begins inside a line."""

_TELLS = {
    Clock.TIME_OF_DAY: 0,
    Clock.UPTIME: 1,
    Clock.LOCAL_NO_YEAR: 2,
    Clock.LOCAL: 3,
    Clock.UTC: 4,
}
"""How much each clock tells: what it leaves out cannot be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeeledMessage:
    """One message of a physical line.

    Attributes:
        text: the payload.
        raw: the message with its wrappers.
        origin: who printed it.
        at: the time that tells most.
        header: the innermost header.
        quoted: a mark of a quotation was among its wrappers.
    """

    text: str
    raw: str
    origin: Origin = NOBODY
    at: Instant | None = None
    header: Header | None = None
    quoted: bool = False


@dataclass(slots=True)
class _Peeled:
    """What is known while the wrappers come off; `shared_*` holds for the whole line."""

    text: str
    origin: Origin
    shared_origin: Origin
    at: Instant | None = None
    shared_at: Instant | None = None
    header: Header | None = None
    quoted: bool = False
    position: int = 0

    def note_time(self, at: Instant | None, *, shared: bool) -> None:
        if at is None:
            return
        if shared:
            self.shared_at = _better(self.shared_at, at)
        self.at = _better(self.at, at)


def peel(line: str, base: Origin = NOBODY) -> Iterator[PeeledMessage]:
    """Yield the messages of one line, in order; none for a blank line.

    Args:
        line: the line, decoded and cleaned, without its end.
        base: what the artifact's path tells of who wrote it.
    """
    if line in _plain:
        yield PeeledMessage(text=line.rstrip(), raw=line, origin=base)
        return
    printed = line
    if not line.isascii():
        line = line[:_LONGEST_PREFIX].translate(_FULL_WIDTH) + line[_LONGEST_PREFIX:]
    shared = _Peeled(text=line, origin=base, shared_origin=base)
    begin = 0
    for _ in range(_MOST_MESSAGES):
        peeled = _peel_one(line[begin:], shared.shared_origin, shared.shared_at)
        if begin == 0:
            shared = peeled
        end = len(line)
        cut = _next_message(peeled)
        if cut is not None:
            end = begin + cut
        message = _message(peeled, line[begin:end], printed[begin:end])
        if message is not None:
            yield message
        if cut is None:
            if begin == 0 and message is not None and _is_plain(message, line, base):
                _remember(printed)
            return
        begin = end
    yield PeeledMessage(text=line[begin:], raw=line[begin:], origin=shared.shared_origin)


_LONGEST_PREFIX = 160
_FULL_WIDTH = str.maketrans("【】（）：｜", "[]():|")
"""Signs of Chinese and Japanese prefixes."""
_plain: set[str] = set()
"""Lines without wrappers that were met: the frames of a thousand ranks' stacks are few texts."""
_MOST_PLAIN = 10_000
_LONGEST_PLAIN = 200


def _is_plain(message: PeeledMessage, line: str, base: Origin) -> bool:
    """Whether a line is its own only message, whoever printed it."""
    bare = message.header is None and message.at is None
    return bare and message.origin == base and message.text == line.rstrip()


def _remember(line: str) -> None:
    if len(line) > _LONGEST_PLAIN:
        return
    if len(_plain) >= _MOST_PLAIN:
        _plain.clear()
    _plain.add(line)


def _message(peeled: _Peeled, line: str, raw: str) -> PeeledMessage | None:
    text = line[peeled.position :].rstrip()
    if not text and peeled.header is None:
        return None
    repeated = _REPEATED.search(text) if "[repeated " in text else None
    origin = peeled.origin
    if repeated is not None:
        text = text[: repeated.start()]
        origin = replace(origin, repeated=int(repeated[1]))
    return PeeledMessage(
        text=text,
        raw=raw,
        origin=origin,
        at=peeled.at,
        header=peeled.header,
        quoted=peeled.quoted,
    )


def _next_message(peeled: _Peeled) -> int | None:
    """Where the next message begins, counted from the beginning of this one."""
    cut = _glued(peeled.text, peeled.position)
    if peeled.header is not None and "%|" in peeled.text:
        bar = _BAR.search(
            peeled.text, peeled.position + 1, len(peeled.text) if cut is None else cut
        )
        if bar is not None:
            return bar.start()
    return cut


def _glued(text: str, position: int) -> int | None:
    """Where a message begins behind the one at `position`."""
    after = position + 1
    starts = [
        match.start()
        for word, pattern in _GLUED
        if word in text and (match := pattern.search(text, after)) is not None
    ]
    own = not text.startswith("[", position) and _GLUED_NCCL.match(text, position) is not None
    if text.count(" NCCL ", after) > own:
        nccl = _GLUED_NCCL.search(text, after)
        starts += [] if nccl is None else [nccl.start()]
    return min(starts, default=None)


def _peel_one(text: str, origin: Origin, at: Instant | None) -> _Peeled:
    peeled = _Peeled(text=text, origin=origin, shared_origin=origin, at=at, shared_at=at)
    for _ in range(_MOST_WRAPPERS):
        if _OF_NCCL.match(text, peeled.position) is not None or not (
            _take_header(peeled)
            or _take_wrapper(peeled)
            or _take_time(peeled)
            or _take_voice(peeled)
            or _take_level(peeled)
        ):
            break
    return peeled


def _take_header(peeled: _Peeled) -> bool:
    found = _HEADERS.match(peeled.text, peeled.position)
    if found is None:
        return False
    _, match = found
    peeled.header = header(match)
    if (match.groupdict().get("s") or match.groupdict().get("epoch")) is not None:
        peeled.note_time(_header_time(match), shared=False)
    pid = match.groupdict().get("pid")
    if pid is not None and peeled.header.file.endswith(".py") and int(pid) <= _LARGEST_PID:
        peeled.origin = replace(peeled.origin, pid=int(pid))
    peeled.position = match.end()
    return True


def _header_time(match: re.Match[str]) -> Instant | None:
    """The fraction in a c10 header is of another clock than its second."""
    at = stamps.instant(match)
    if at is None or match.groupdict().get("year") is not None:
        return at
    return replace(at, resolution_s=1.0)


def _take_wrapper(peeled: _Peeled) -> bool:
    found = _WRAPPERS.match(peeled.text, peeled.position)
    if found is None or found[1].end() == peeled.position:
        return False
    wrapper, match = WRAPPERS[found[0]], found[1]
    peeled.origin = wrapper.take(match, peeled.origin)
    if wrapper.whole_line:
        peeled.shared_origin = wrapper.take(match, peeled.shared_origin)
    peeled.quoted = peeled.quoted or wrapper.quotes
    peeled.position = match.end()
    return True


def _take_time(peeled: _Peeled) -> bool:
    found = _TIMES.match(peeled.text, peeled.position)
    if found is None:
        return False
    _, match = found
    peeled.note_time(stamps.instant(match), shared=True)
    peeled.position = match.end()
    _note_speaker(peeled, match.groupdict().get("tags"), match.groupdict().get("host"))
    app = _RANK_OF_APP.search(match.groupdict().get("app") or "")
    rank = match.groupdict().get("rank") or (app and app["rank"])
    if rank is not None:
        peeled.origin = replace(peeled.origin, rank=Rank(int(rank)))
        peeled.shared_origin = replace(peeled.shared_origin, rank=peeled.origin.rank)
    return True


def _take_voice(peeled: _Peeled) -> bool:
    """A prefix that no list has, and that names a speaker all the same."""
    told = read_voice(peeled.text, peeled.position, peeled.origin)
    if told is None:
        return False
    by_torch = peeled.header is not None and peeled.header.file.endswith((".cpp", ".cc"))
    if by_torch and told[0].rank != peeled.origin.rank:
        return False  # torch's own message follows: what it names counts within a group
    peeled.origin, peeled.position = told
    return True


def _take_level(peeled: _Peeled) -> bool:
    """A bare level is a header only behind a speaker or a time."""
    if peeled.header is not None or peeled.position == 0:
        return False
    match = read_level(peeled.text, peeled.position)
    if match is None:
        return False
    severity, file, number = level_of(match)
    peeled.header = Header(severity=severity, file=file, line=number)
    peeled.position = match.end()
    return True


def _note_speaker(peeled: _Peeled, tags: str | None, host: str | None) -> None:
    """SGLang's ` DP0 TP3` inside the time's brackets; syslog's host behind the time."""
    if tags is not None:
        peeled.origin = replace(peeled.origin, actor=tags.strip())
    if host is None:
        match = _SYSLOG_HOST.match(peeled.text, peeled.position)
        if match is not None:
            host, peeled.position = match["host"], match.end()
    if host is not None:
        peeled.origin = replace(peeled.origin, host=host)
        peeled.shared_origin = replace(peeled.shared_origin, host=host)


def _better(one: Instant | None, other: Instant) -> Instant:
    """The one that tells more; the later of two that tell the same, for it is nearer."""
    return one if one is not None and _TELLS[one.clock] > _TELLS[other.clock] else other


def continuation(begun: str, line: str) -> str | None:
    """What of `line` may continue the message at the end of `begun`; None when nothing may.

    A launcher repeats its wrapper on the second half of a wrapped message; a line that starts a
    message of its own, or is another speaker's, continues nothing.
    """
    peeled = _peel_one(line, NOBODY, None)
    if peeled.header is not None or _STARTS.match(line, peeled.position) is not None:
        return None
    if peeled.origin == NOBODY and peeled.at is None:
        return line[peeled.position :].strip()
    speaker = _peel_one(begun, NOBODY, None)
    if peeled.origin not in {speaker.origin, speaker.shared_origin}:
        return None
    return line[peeled.position :].strip()


_STARTS = re.compile(
    r"\s*(?:\[|Traceback \(most|terminate called|frame #\d|Exception raised from|#\d+ |\t? ?- |"
    r"[\w.-]+:\d+:\d+ \[|\w+(?:Error|Exception)\b|Watchdog caught|WorkNCCL\(.*WorkNCCL"
    r"|File \"|={4}|-{4}|Root Cause|Failures:|Fatal Python|Thread 0x|srun:|slurmstepd:|\d{1,3}%\|)"
)
"""Messages that never continue another."""
