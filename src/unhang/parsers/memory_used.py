"""From what programs print of the memory of their host to how full it was the last time.

Reads::

    CPU Virtual Memory:  used = 590.04 GB, percent = 58.6%                (DeepSpeed)
    step 40: host RAM 231.9/251.6 GiB
    [monitor] system memory usage: 97.1 %
    mem used 498 GB of 512 GB (host)

Traps: a GPU has memory too, and a process has its share; swap and caches are no need.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, HostMemoryUsed
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_OF_HOST = re.compile(
    r"\b(?:(?:cpu|host|system|node|physical|virtual|main)[ _-](?:virtual[ _-])?(?:mem(?:ory)?|ram)"
    r"|ram)\b",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"(?<![\d.])(?P<percent>\d{1,3}(?:\.\d{1,3})?) ?%")
_OF = re.compile(
    r"(?<![\d.])(?P<used>\d{1,6}(?:\.\d{1,3})?) ?(?:[GT]i?B)? ?(?:/|of|out of) ?"
    r"(?P<all>\d{1,6}(?:\.\d{1,3})?) ?[GT]i?B",
    re.IGNORECASE,
)
_NO_NEED = re.compile(
    r"gpu|cuda|vram|device mem|swap|cached|avail|free|limit|threshold|if |reduc|increas",
    re.IGNORECASE,
)
_WITHIN = 80


class MemoryUsedParser(LineParser, name="memory-used", sampled=True):
    """Parser of what programs print of the memory of their host."""

    def __init__(self) -> None:
        self._last: HostMemoryUsed | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep the last look."""
        named = _OF_HOST.search(line.text)
        if named is not None:
            said = line.text[named.start() : named.end() + _WITHIN]
            share = None if _NO_NEED.search(said) is not None else _share(said)
            if share is not None and 0 < share <= 1:
                self._last = HostMemoryUsed(**place(line), share=share)
        return iter(())

    def finish(self) -> Iterator[Event]:
        """Tell the last look."""
        if self._last is not None:
            yield self._last


def _share(said: str) -> float | None:
    """How much of the memory is in use, from a share or from two sizes."""
    percent = _PERCENT.search(said)
    if percent is not None:
        return float(percent["percent"]) / 100
    parts = _OF.search(said)
    if parts is None or float(parts["all"]) == 0:
        return None
    return float(parts["used"]) / float(parts["all"])
