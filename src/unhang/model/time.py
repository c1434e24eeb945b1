"""A point in time with the clock it was read from and how fine that clock is."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass

_YEAR_S = 366 * 86_400.0
_DAY_S = 86_400.0


class Clock(enum.Enum):
    """What a printed time leaves out. Times are compared only where that is sound."""

    UTC = "utc"
    """Date, time and zone: `2026-02-21T04:36:30Z`."""
    LOCAL = "local"
    """Date and time, no zone: `2026-02-21 04:36:30,078`."""
    LOCAL_NO_YEAR = "local-no-year"
    """The c10 header: month, day and time of the node, no year, no zone: `E1121 01:38:58.9`."""
    TIME_OF_DAY = "time-of-day"
    """Time only: `11:17:52`."""
    UPTIME = "uptime"
    """Seconds since boot of one host: `[523602.980286]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """A printed time.

    Attributes:
        seconds: for `UTC` and `LOCAL` seconds since 1970 (local times are read as if UTC);
            for `LOCAL_NO_YEAR` seconds since 1 January of a leap year; for `TIME_OF_DAY`
            seconds since midnight; for `UPTIME` seconds since boot.
        clock: what the printed form leaves out.
        resolution_s: the smallest difference that means something. The fraction in a c10
            header is CLOCK_MONOTONIC glued to a wall-clock second, so it is 1.
    """

    seconds: float
    clock: Clock
    resolution_s: float = 1.0

    def since(self, earlier: Instant) -> float | None:
        """Seconds from `earlier` to this instant, or None where the clocks cannot be compared.

        Zone-less times of different hosts are taken as one zone: clusters keep one. Without
        a year or a date the shortest difference is meant.
        """
        pair = {self.clock, earlier.clock}
        if len(pair) == 1:
            span = _period(self.clock)
            difference = self.seconds - earlier.seconds
            return difference if span is None else _shortest(difference, span)
        if pair == {Clock.LOCAL, Clock.LOCAL_NO_YEAR}:
            return _shortest(_in_year(self) - _in_year(earlier), _YEAR_S)
        if Clock.TIME_OF_DAY in pair and not pair & {Clock.UPTIME, Clock.UTC}:
            return _shortest(self.seconds % _DAY_S - earlier.seconds % _DAY_S, _DAY_S)
        return None


def local_instant(text: str) -> Instant | None:
    """Read a date and a time without a zone, however they are joined; None of anything else.

    >>> local_instant("2024-07-30_01:22:05") == local_instant(" 2024-07-30T01:22:05 ")
    True
    >>> local_instant("soon") is None
    True
    """
    try:
        moment = datetime.datetime.fromisoformat(text.strip() + "+00:00")  # any character joins
    except ValueError:
        return None
    return Instant(seconds=moment.timestamp(), clock=Clock.LOCAL)


def format_instant(instant: Instant) -> str:
    """Print a time with just what its clock knows.

    >>> format_instant(Instant(seconds=3_600.0, clock=Clock.TIME_OF_DAY))
    '01:00:00'
    """
    match instant.clock:
        case Clock.UPTIME:
            return f"uptime {instant.seconds:.3f} s"
        case Clock.TIME_OF_DAY:
            return _moment(instant.seconds, 2000).strftime("%H:%M:%S")
        case Clock.LOCAL_NO_YEAR:
            return _moment(instant.seconds, 2000).strftime("%m-%d %H:%M:%S")
        case Clock.LOCAL:
            return _moment(instant.seconds, 1970).strftime("%Y-%m-%d %H:%M:%S")
        case Clock.UTC:
            return _moment(instant.seconds, 1970).strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment(seconds: float, year: int) -> datetime.datetime:
    """`seconds` since 1 January of `year`; far-off values are held at the calendar's edge."""
    start = datetime.datetime(year, 1, 1, tzinfo=datetime.timezone.utc)
    try:
        return start + datetime.timedelta(seconds=seconds)
    except OverflowError:
        return start


def _period(clock: Clock) -> float | None:
    match clock:
        case Clock.LOCAL_NO_YEAR:
            return _YEAR_S
        case Clock.TIME_OF_DAY:
            return _DAY_S
        case Clock.UTC | Clock.LOCAL | Clock.UPTIME:
            return None


def _shortest(difference: float, period: float) -> float:
    """The representative of `difference` modulo `period` that is nearest to zero."""
    return (difference + period / 2) % period - period / 2


def _in_year(instant: Instant) -> float:
    """Seconds since 1 January, counted in a leap year."""
    if instant.clock is Clock.LOCAL_NO_YEAR:
        return instant.seconds
    day = _moment(instant.seconds, 1970).replace(year=2000)
    start = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
    return (day - start).total_seconds()
