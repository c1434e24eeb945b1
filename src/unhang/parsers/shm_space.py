"""From `df` and monitors to how full shared memory is.

Reads::

    shm              64M   64M  8.0K 100% /dev/shm                     (df)
    tmpfs            60G  1.1G   59G   2% /dev/shm
    01:24:00 x6 shm   8.0/  8 GiB  mem_avail 190.1G                    (somebody's own)

Trap: one that was full is empty again once the job has ended; only the fullest look tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, SharedMemorySeen
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_DF = re.compile(r"\S+(?:\s+[\d.]+[KMGTP]?){3}\s+(?P<percent>\d{1,3})%\s+/dev/shm\s*$")
_OWN = re.compile(
    r"(?:(?P<host>[A-Za-z][\w.-]{0,40}\d)[ :|]{1,3})?(?:/dev/)?\bshm\b[ :=]{0,4}"
    r"(?P<used>\d{1,6}(?:\.\d{1,3})?)(?:\s?[KMGT]i?B?)?\s?/\s{0,4}"
    r"(?P<size>\d{1,6}(?:\.\d{1,3})?)\s?[KMGT]i?B?\b"
)


class ShmSpaceParser(LineParser, name="shm-space", needles=("dev/shm", " shm "), sampled=True):
    """Parser of what is left of shared memory; of each host the fullest look is said."""

    def __init__(self) -> None:
        self._fullest: dict[str | None, SharedMemorySeen] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Take a look."""
        df, own = _DF.search(line.raw), _OWN.search(line.raw)
        if df is not None:
            self._take(line, line.origin.host, int(df["percent"]) / 100)
        elif own is not None and float(own["size"]) > 0:
            host = own["host"] or line.origin.host
            self._take(line, host, float(own["used"]) / float(own["size"]))
        return iter(())

    def _take(self, line: Line, host: str | None, share: float) -> None:
        known = self._fullest.get(host)
        if share <= 1 and (known is None or share > known.share):
            where = place(line)
            where["origin"] = replace(line.origin, host=host)
            self._fullest[host] = SharedMemorySeen(**where, share=share)

    def finish(self) -> Iterator[Event]:
        """Say the fullest look at each host."""
        yield from self._fullest.values()
