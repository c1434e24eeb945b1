"""Finds verdicts of unhang itself between the lines of a job: they quote, and are no evidence.

`unhang run` prints its verdict beside the job's output, and people keep both in one file. A verdict
quotes lines of the job and says what other causes would look like; read as a log, it would prove
itself.
"""

from __future__ import annotations

from unhang import lazy_re as re
from unhang.sources.line import Line
from unhang.sources.plan import Wanted

HEADINGS = (
    *("ROOT CAUSE", "LOCATED", "UNDETERMINED", "NO FAILURE FOUND"),
    *("根因", "已定位", "无法判定", "未发现故障"),
)
"""What a verdict begins with, in each language of the catalogue."""
ENDINGS = ("Read ", "读取 ")
"""What its last line but one begins with: how much was read."""

_LONGEST = 400
"""Lines; no verdict is as long. Without an end within them it was no verdict."""
_HEADING = re.compile(rf"^\s?(?:{'|'.join(HEADINGS)})(?:\s*$|\s{{2,}}[a-z_]{{4,20}}\b)")
_ENDING = re.compile(rf"^(?:{'|'.join(ENDINGS)}).{{0,60}}\d")


class OwnReports:
    """Where the verdicts of one artifact stand."""

    WANTED = Wanted(needles=HEADINGS, after=_LONGEST)

    def __init__(self) -> None:
        self._begun: int | None = None
        self._found: list[range] = []

    def feed(self, line: Line) -> None:
        """See a line at or below a heading."""
        if _HEADING.match(line.text):
            self._begun = line.number
        elif self._begun is not None and _ENDING.match(line.text):
            if line.number - self._begun <= _LONGEST:
                self._found.append(range(self._begun, line.number + 1))
            self._begun = None

    def hold(self, number: int | None) -> bool:
        """Whether a line stands within one of them."""
        return number is not None and any(number in lines for lines in self._found)
