"""From a printed time to an `Instant`: one pattern for each way people print it."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from unhang import lazy_re as re
from unhang.model.time import Clock, Instant

_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_LEAP_YEAR = 2000
_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_MONTH = "|".join(_MONTHS)
_TIME = r"(?P<h>\d{2}):(?P<m>\d{2}):(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?"
_ZONE = r"(?:\s?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})(?![\w:]))?"

_MICRO = r"(?:\.\d{3}(?= ))?"
ISO = rf"(?P<year>\d{{4}})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T _,-]{_TIME}{_MICRO}{_ZONE}"
"""`2025-06-02 11:17:52,557`, `2025-06-02T11:17:52.557Z`, `2025/06/02 11:17:52`,
`2025-06-02,11:17:52`, `2025-06-02-11:17:52` and, to the microsecond, `…:52.901.007` (Ascend)."""
SLASHED = rf"(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{{4}}|\d\d)[ -]{_TIME}"
"""`06/02/2025 11:17:52`, the American order, unless it cannot be."""
NO_YEAR = rf"(?P<month>\d\d)[-/](?P<day>\d\d) {_TIME}"
"""`06-02 11:17:52`, `06/02 11:17:52`."""
NAMED = (
    rf"(?:[A-Z][a-z]{{2}}\s+)?(?P<name>{_MONTH})\s+(?P<day>\d{{1,2}})\s+{_TIME}"
    rf"(?:\s+(?P<zone>Z|UTC|[A-Z]{{3,4}}))?(?:\s+(?P<year>\d{{4}})(?!\d))?"
)
"""`Mon Jun  2 11:17:52 2025`, `Jun  2 11:17:52`, `Mon Jun  2 11:17:52 UTC 2025`."""
C10 = rf"(?P<month>\d{{1,2}})(?P<day>\d\d) {_TIME}"
"""`314 14:33:45.172185860` and `0314 14:33:45.172185`: month (perhaps unpadded), then day."""
CLOCK = r"(?P<h>\d{1,2}):(?P<m>\d{2}):(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?"
"""`11:17:52.5`."""
EPOCH = r"(?P<epoch>1\d{9})(?:\.(?P<f>\d{1,9}))?"
"""`1594407135.546337`: seconds since 1970."""
UPTIME = r"\s*(?P<uptime>\d{1,9})\.(?P<f>\d{6})"
"""`  123.980286`: seconds since boot, as the kernel prints them."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """The groups that the pattern did not have are None."""

    groups: dict[str, str | None]

    def number(self, name: str) -> int | None:
        text = self.groups.get(name)
        return None if text is None else int(text)

    @property
    def fraction(self) -> float:
        digits = self.groups.get("f")
        return 0.0 if digits is None else int(digits) / 10 ** len(digits)

    @property
    def resolution_s(self) -> float:
        digits = self.groups.get("f")
        return 1.0 if digits is None else 10.0 ** -min(len(digits), 6)


def instant(match: re.Match[str]) -> Instant | None:
    """Read the groups of a pattern above; None when the numbers are no time (`99:99:99`)."""
    moment = _Moment(match.groupdict())
    try:
        return _reader(moment)(moment)
    except (ValueError, OverflowError):
        return None


def _reader(moment: _Moment) -> Callable[[_Moment], Instant]:
    if moment.groups.get("epoch") is not None:
        return _epoch
    if moment.groups.get("uptime") is not None:
        return _uptime
    if moment.groups.get("month") is None and moment.groups.get("name") is None:
        return _time_of_day
    return _dated


def _epoch(moment: _Moment) -> Instant:
    seconds = float(moment.number("epoch") or 0) + moment.fraction
    return Instant(seconds=seconds, clock=Clock.UTC, resolution_s=moment.resolution_s)


def _uptime(moment: _Moment) -> Instant:
    seconds = float(moment.number("uptime") or 0) + moment.fraction
    return Instant(seconds=seconds, clock=Clock.UPTIME, resolution_s=moment.resolution_s)


def _time_of_day(moment: _Moment) -> Instant:
    time = _clock_time(moment)
    seconds = time.hour * 3600 + time.minute * 60 + time.second + moment.fraction
    return Instant(seconds=seconds, clock=Clock.TIME_OF_DAY, resolution_s=moment.resolution_s)


def _clock_time(moment: _Moment) -> datetime.time:
    return datetime.time(
        moment.number("h") or 0, moment.number("m") or 0, min(moment.number("s") or 0, 59)
    )


def _dated(moment: _Moment) -> Instant:
    year, month, day = moment.number("year"), moment.number("month"), moment.number("day") or 0
    if month is None:
        month = _MONTHS[str(moment.groups["name"])]
    if month > 12 >= day:
        month, day = day, month
    time = _clock_time(moment)
    seconds = _midnight(year, month, day) + 3600.0 * time.hour + 60.0 * time.minute + time.second
    clock, offset_s = _clock(moment.groups.get("zone"), year)
    return Instant(
        seconds=seconds + moment.fraction - offset_s,
        clock=clock,
        resolution_s=moment.resolution_s,
    )


@lru_cache(maxsize=512)
def _midnight(year: int | None, month: int, day: int) -> float:
    """Seconds since 1970, or, without a year, since the first day of a leap year."""
    date = datetime.datetime(_century(year), month, day, tzinfo=_UTC)
    first = datetime.datetime(_LEAP_YEAR, 1, 1, tzinfo=_UTC) if year is None else _EPOCH
    return (date - first).total_seconds()


def _century(year: int | None) -> int:
    if year is None:
        return _LEAP_YEAR
    return year + 2000 if year < 100 else year


def _clock(zone: str | None, year: int | None) -> tuple[Clock, float]:
    """The clock and how far ahead of UTC it is; names of zones say nothing certain."""
    if year is None:
        return Clock.LOCAL_NO_YEAR, 0.0
    if zone in {"Z", "UTC", "GMT"}:
        return Clock.UTC, 0.0
    if zone is not None and zone[0] in "+-":
        offset_s = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        return Clock.UTC, float(-offset_s if zone[0] == "-" else offset_s)
    return Clock.LOCAL, 0.0
