"""From a physical line to its messages: wrappers off, facts kept.

A payload carries up to four wrappers (a launcher's, a collector's, a scheduler's, the process's
own), outermost first. They are peeled until none matches; what they tell of rank, host, pid and
time goes into `Origin` and `Instant`. Several messages glued to one line are separated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import NOBODY, Origin
from unhang.model.time import Instant
from unhang.sources.clock import Stamp, read_stamp
from unhang.sources.line import Header

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])")

_CODE = r"[\w./-]{1,120}\.(?:cpp|cc|cu|hpp|h|py):\d{1,6}"
_C10 = (
    r"\[?(?P<severity>[EWIF])(?P<stamp>\d{3,4}\s+\d\d:\d\d:\d\d(?:\.\d+)?)?"
    r"\s+(?:\d+\s+)?(?P<file>[\w./-]{1,120}\.(?:cpp|cc|cu|hpp|h|py)):(?P<line>\d{1,6})\]\s?"
)
_HEADER = re.compile(_C10)
_PYTHON_HEADER = re.compile(
    r"(?P<severity>ERROR|WARNING|INFO|CRITICAL):(?P<file>torch\.distributed[\w.]{0,120}):"
)
_BRACKET_HEADER = re.compile(
    r"(?P<file>torch\.distributed[\w.]{0,120}):\s*\[(?P<severity>ERROR|WARNING|INFO)\]\s?"
)
# A message that begins inside a line: its rank prefix and header, or its rank prefix right behind
# a progress bar.
_GLUED = re.compile(
    r"(?:\[(?:rank|default)\d{1,6}\]:\s?){0,3}\[[EWIF](?:\d{3,4}\s+\d\d:\d\d:\d\d[.\d]*)?\s+"
    + _CODE
    + r"\]|(?<=[\]%])(?:\[rank\d{1,6}\]:)|(?<=[\]%])\[[\w.-]{1,80}:\d{1,5}\]:"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One message of a physical line."""

    text: str
    origin: Origin
    at: Instant | None
    header: Header | None


def plain(raw: str) -> str:
    """`raw` without colours and other terminal control."""
    return _ESCAPES.sub("", raw) if "\x1b" in raw else raw


def peel(raw: str, base: Origin = NOBODY) -> Iterator[Piece]:
    """Yield the messages of one physical line, in order; none for an empty line.

    Args:
        raw: the line, decoded, without colours and line end.
        base: what the artifact's path tells of who wrote it.
    """
    for segment in raw.split("\r"):
        if segment.strip():
            yield from _messages(segment, base)


def _messages(segment: str, base: Origin) -> Iterator[Piece]:
    """Separate glued messages; each keeps the wrappers in front of the whole line."""
    first = _unwrap(segment, base, None)
    outer = first.origin
    rest = first.text
    cuts = [m.start() for m in _GLUED.finditer(rest) if rest[: m.start()].strip()]
    if not cuts:
        yield first
        return
    yield replace(first, text=rest[: cuts[0]])
    shared = replace(outer, rank=base.rank) if outer.rank != base.rank else outer
    for start, end in zip(cuts, [*cuts[1:], len(rest)], strict=True):
        yield _unwrap(rest[start:end], shared, first.at)


def _unwrap(text: str, origin: Origin, at: Instant | None) -> Piece:
    """Peel until no wrapper matches."""
    header: Header | None = None
    stamp: Stamp | None = None
    for _ in range(12):
        for pattern, take in _WRAPPERS:
            match = pattern.match(text)
            if match is not None and match.end() > 0:
                origin = take(match, origin)
                text = text[match.end() :]
                break
        else:
            found = read_stamp(text)
            if found is not None:
                stamp = found if stamp is None else stamp.finer(found)
                text = text[found.length :]
                continue
            break
    at = stamp.instant if stamp is not None else at
    match = _HEADER.match(text) or _PYTHON_HEADER.match(text) or _BRACKET_HEADER.match(text)
    if match is not None:
        header = Header(
            severity=match["severity"][0],
            file=match["file"],
            line=int(match.groupdict().get("line") or 0),
        )
        own = match.groupdict().get("stamp")
        if own is not None:
            own_stamp = read_stamp(own)
            at = own_stamp.instant if own_stamp is not None else at
        text = text[match.end() :]
    return Piece(text=text, origin=origin, at=at, header=header)


def _rank(match: re.Match[str], origin: Origin) -> Origin:
    if origin.rank is not None and origin.local_rank is None:
        # `[rank0]:[rank4]:` is a local prefix in front of the process's own, global one.
        return replace(origin, rank=Rank(int(match[1])), local_rank=LocalRank(int(origin.rank)))
    return replace(origin, rank=Rank(int(match[1])))


def _local(match: re.Match[str], origin: Origin) -> Origin:
    return replace(origin, local_rank=LocalRank(int(match[1])))


def _actor(match: re.Match[str], origin: Origin) -> Origin:
    return replace(origin, actor=match[1], pid=int(match[2]), host=match[3] or origin.host)


def _task(match: re.Match[str], origin: Origin) -> Origin:
    return replace(origin, task=int(match[1]))


def _host(match: re.Match[str], origin: Origin) -> Origin:
    return replace(origin, host=match[1])


def _host_local(match: re.Match[str], origin: Origin) -> Origin:
    return replace(origin, host=match[1], local_rank=LocalRank(int(match[2])))


def _nothing(_: re.Match[str], origin: Origin) -> Origin:
    return origin


_HOST = r"[A-Za-z][\w.-]{0,80}"
_WRAPPERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Origin], Origin]], ...] = (
    (
        re.compile(r"\s{0,8}\(([A-Za-z_][\w.:<>, ]{0,80}?) pid=(\d+)(?:, ip=([\w.:]+))?\)\s?"),
        _actor,
    ),
    (re.compile(r"\s{0,4}\[?rank[ =]?(\d{1,6})\]:\s?", re.IGNORECASE), _rank),
    (re.compile(r"\s{0,4}\[RANK[ =](\d{1,6})\]\s?"), _rank),
    (re.compile(r"\s{0,4}\[default(\d{1,5})\]:\s?"), _local),
    (re.compile(rf"\s{{0,4}}\[({_HOST}):(\d{{1,3}})\]:?\s?"), _host_local),
    (re.compile(r"\s{0,8}(\d{1,5}): (?=\S)"), _task),
    (re.compile(r"\s{0,8}(\d{1,5}):(?=\[)"), _task),
    (re.compile(rf"\s{{0,4}}\[?(?:pod/)({_HOST})(?:/{_HOST})?\]?:?\s"), _host),
    (re.compile(rf"\s{{0,4}}({_HOST}) \[(?:stderr|stdout)\]\s"), _host),
    (re.compile(r"\[\d+,(\d+)\]<std(?:err|out|diag)>:\s?"), _task),
    (re.compile(r"\[\d{1,7}\] (?=\S)"), _nothing),
    (re.compile(r"\s{0,4}[>|] "), _nothing),
)
