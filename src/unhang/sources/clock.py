"""From the printed forms of time to `Instant`."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from unhang.model.time import Clock, Instant

_FULL = re.compile(
    r"\s{0,4}[\[(]?(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"(Z|[+-]\d\d:?\d\d)?[\])]?(?: ?\||:| -| -\|)?\s?"
)
_C10 = re.compile(r"(\d{1,2})(\d\d)\s+(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_UPTIME = re.compile(r"\[\s*(\d{1,9}\.\d{6})\]\s?")
_CLOCK = re.compile(r"\[?(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\]?(?: ?\||:)?\s")
_KERNEL_DATE = re.compile(
    r"\[?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r"\s+(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.\d+)?(?: (\d{4}))?\]?\s?"
)
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time at the beginning of a text, and how many characters it takes."""

    instant: Instant
    length: int

    def finer(self, other: Stamp) -> Stamp:
        """The one of the two that leaves less open; the later one when they are alike."""
        return self if _OPEN[self.instant.clock] < _OPEN[other.instant.clock] else other


_OPEN = {
    Clock.LOCAL_NO_YEAR: 1,
    Clock.LOCAL: 1,
    Clock.UTC: 1,
    Clock.UPTIME: 2,
    Clock.TIME_OF_DAY: 3,
}


def read_stamp(text: str) -> Stamp | None:
    """The time that `text` begins with, or None."""
    match = _FULL.match(text)
    if match is not None:
        return _full(match)
    match = _C10.match(text)
    if match is not None:
        return _yearless(match, 2000, int(match[1]), int(match[2]), match.group(3, 4, 5))
    match = _UPTIME.match(text)
    if match is not None:
        instant = Instant(seconds=float(match[1]), clock=Clock.UPTIME, resolution_s=0.001)
        return Stamp(instant, match.end())
    match = _KERNEL_DATE.match(text)
    if match is not None:
        month = _MONTHS.index(match[1]) + 1
        return _yearless(match, int(match[6] or 0), month, int(match[2]), match.group(3, 4, 5))
    match = _CLOCK.match(text)
    if match is not None:
        seconds = int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])
        return Stamp(Instant(seconds=seconds, clock=Clock.TIME_OF_DAY), match.end())
    return None


def _full(match: re.Match[str]) -> Stamp | None:
    moment = _moment(*(int(match[i]) for i in range(1, 7)))
    if moment is None:
        return None
    fraction = float(f"0.{match[7]}") if match[7] else 0.0
    seconds = moment.timestamp() + fraction
    clock = Clock.LOCAL if match[8] is None else Clock.UTC
    if match[8] not in (None, "Z"):
        sign = -1 if match[8][0] == "-" else 1
        digits = match[8][1:].replace(":", "")
        seconds -= sign * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
    resolution = 0.001 if match[7] else 1.0
    return Stamp(Instant(seconds=seconds, clock=clock, resolution_s=resolution), match.end())


def _yearless(
    match: re.Match[str], year: int, month: int, day: int, clock: tuple[str, ...]
) -> Stamp | None:
    moment = _moment(max(2000, year), month, day, *(int(c) for c in clock))
    if moment is None:
        return None
    if year > 2000:
        return Stamp(Instant(seconds=moment.timestamp(), clock=Clock.LOCAL), match.end())
    start = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
    seconds = (moment - start).total_seconds()
    return Stamp(Instant(seconds=seconds, clock=Clock.LOCAL_NO_YEAR), match.end())


def _moment(*fields: int) -> datetime.datetime | None:
    try:
        return datetime.datetime(*fields, tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
