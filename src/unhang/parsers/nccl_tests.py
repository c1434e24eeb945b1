"""From nccl-tests and what people measure of a link to bandwidths and to who ran where.

Reads::

    #  Rank  0 Group  0 Pid  4711 on  node1 device  0 [0000:17:00] NVIDIA A100-SXM4-80GB
    #       size         count      type   redop    root     time   algbw   busbw #wrong   …
         8388608       2097152     float     sum      -1    310.8   26.99   26.99      0   …
    # Avg bus bandwidth    : 28.2632
    [  5]   0.00-10.00  sec  1.09 GBytes   939 Mbits/sec    receiver     (iperf; also nload, sar)
    Speed: 1000Mb/s                                                      (ethtool)

Old versions have no `redop`, no `root` or an `error` column instead of `#wrong`. With
NCCL_DEBUG=INFO the messages of NCCL split a row: its head stands before them, its numbers on the
next line that begins with numbers. The last column is in-place, the one before it out-of-place;
the better one is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import BandwidthMeasured, Event, VersionSeen, WorldSeen
from unhang.model.ids import Rank
from unhang.parsers.base import EventFields, LineParser, place
from unhang.parsers.vocabulary import nccl_header
from unhang.sources.line import Line

_TYPE = re.compile(r"u?int(?:8|32|64)?|char|half|float8?|double|bfloat16|(?:fp8_|f8)e[45]m[23]")
_RANK = re.compile(
    r"#\s*Rank\s*(?P<rank>\d{1,7})\s*(?:Group\s*\d{1,7}\s*)?Pid\s*(?P<pid>\d{1,10})\s*on\s*(?P<host>\S+)\s*"
    r"device\s*\d+\s*\[[0-9a-fA-Fx:.]+\]\s*(?P<gpu>\S.{0,80})?"
)
_COUNT = re.compile(r"[0-9]{1,15}")
_DIGITS = re.compile(r"[0-9]+(?=[A-Za-z])")
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{0,9})?(?:e[+-]?[0-9]{1,2})?|N/A", re.IGNORECASE)


_OF_A_LINK = re.compile(
    r"(?<![\w.-])(?P<rate>\d{1,6}(?:\.\d{1,4})?) ?(?P<unit>[MG])(?:b|bits?)(?:/s|ps)(?:ec)?\b"
)
_BITS = {"M": 1e-3 / 8, "G": 1 / 8}
_NEEDLES = (
    *("algbw   busbw", "# Using devices", "nThread 1 nGpus"),
    *("Mbits/s", "Gbits/s", "Mbit/s", "Gbit/s", "Mb/s", "Gb/s"),
)


class NcclTestsParser(LineParser, name="nccl-tests", needles=_NEEDLES, after=20_000):
    """Parser of nccl-tests."""

    def __init__(self) -> None:
        self._size: tuple[int, Line] | None = None
        self._columns: list[float] = []

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the rank or the measurement that this line completes."""
        rates = [float(m["rate"]) * _BITS[m["unit"]] for m in _OF_A_LINK.finditer(line.text)]
        if rates:
            yield BandwidthMeasured(**place(line), size_bytes=0, busbw_gbps=max(rates))
            return
        ran = _RANK.search(line.text)
        if ran is not None:
            yield from _ran(line, ran)
            return
        text = _own_text(line.text)
        words = text.split()
        if (
            len(words) >= 3
            and _COUNT.fullmatch(words[0])
            and _COUNT.fullmatch(words[1])
            and _TYPE.fullmatch(words[2])
        ):
            yield from self._row()
            self._size = (int(words[0]), line)
            self._columns = _measured(words[3:], skip_leading=True)
        elif self._size is not None and words and all(_NUMBER.fullmatch(w) for w in words):
            self._columns.extend(_measured(words, skip_leading=False))
        elif text.startswith("#"):
            yield from self._row()
            return
        if len(self._columns) >= 8:
            yield from self._row()

    def finish(self) -> Iterator[Event]:
        """The row that the end of the file cut."""
        yield from self._row()

    def _row(self) -> Iterator[Event]:
        size, columns = self._size, self._columns
        self._size, self._columns = None, []
        if size is None:
            return
        rates = [columns[i] for i in (2, 6) if i < len(columns)]
        wrong = [columns[i] for i in (3, 7) if i < len(columns) and columns[i] >= 0]
        if rates and max(rates) >= 0:
            yield BandwidthMeasured(
                **place(size[1]),
                size_bytes=size[0],
                busbw_gbps=max(rates),
                wrong=int(max(wrong)) if wrong else None,
            )


def _own_text(text: str) -> str:
    """The line up to the first message of NCCL; digits that a host is glued to are the row's."""
    if "NCCL " not in text:
        return text
    message = next(nccl_header.messages(text), None)
    if message is None:
        return text
    digits = _DIGITS.match(text, message.start) if message.start > 0 else None
    return text[: message.start] + (digits[0] if digits is not None else "")


def _measured(words: list[str], *, skip_leading: bool) -> list[float]:
    """The numbers of time, algbw, busbw and #wrong; -1 for N/A.

    `redop` (a word) and `root` (an integer) come first in a row; times always have a point or
    are followed by bandwidths, so the root is what stands before the first full set of numbers.
    """
    numbers = [w for w in words if _NUMBER.fullmatch(w) or w == "-1"]
    if skip_leading and (len(numbers) % 4 == 1):
        numbers = numbers[1:]
    return [-1.0 if w.upper() == "N/A" else float(w) for w in numbers]


def _ran(line: Line, match: re.Match[str]) -> Iterator[Event]:
    where: EventFields = place(line)
    yield WorldSeen(
        **where, rank=Rank(int(match["rank"])), host=match["host"], pid=int(match["pid"])
    )
    if match["gpu"]:
        yield VersionSeen(
            **where, component="gpu", version=match["gpu"].strip(), basis="nccl-tests device list"
        )
