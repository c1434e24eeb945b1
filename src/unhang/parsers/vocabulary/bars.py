"""What progress bars and step lines look like: the patterns, each with named groups.

Groups: `done`, `total`, `percent`, `elapsed`, `remaining`, `rate`, `label`; any may be absent.
"""

from __future__ import annotations

from unhang import lazy_re as re
from unhang.model.forms import rows
from unhang.model.phases import Phase

_COUNT = r"\d{1,15}(?:\.\d{1,3})?[kKMGTP]?"
_TIME = r"(?:\d{1,4} days?,\s*)?\d{1,5}(?::\d\d){1,2}"
BAR = re.compile(
    rf"(?:(?P<percent>\d{{1,3}})%\s?(?:\|[^|\r]{{0,400}}\||Completed \|)\s*)?"
    rf"(?P<done>{_COUNT})\s?/\s?(?P<total>{_COUNT})\s*"
    rf"\[\s*(?P<elapsed>{_TIME})\s*<\s*(?P<remaining>{_TIME}|\?)(?:,\s*(?P<rate>[^\],]{{1,40}}))?"
)
ENDLESS = re.compile(
    rf"(?P<done>{_COUNT})\s?(?P<unit>[A-Za-z]{{1,20}})?\s*"
    rf"\[\s*(?P<elapsed>{_TIME})\s*,\s*(?P<rate>[\d.?]+\s*(?:[A-Za-z]{{1,20}}/s|s/[A-Za-z]{{1,20}}))"
)
CUT = re.compile(r"(?P<percent>\d{1,3})%\s?\|")
RICH = re.compile(
    rf"[━╸╺]{{3,400}}\s*(?:(?P<done>{_COUNT})/(?P<total>{_COUNT})|(?P<percent>\d{{1,3}})%)"
    rf"(?:\s*(?P<elapsed>{_TIME})\s*•\s*(?P<remaining>{_TIME}|[-:]+))?"
)
BLOCKS = re.compile(
    rf"[█▓▒░▏▎▍▌▋▊▉▰▱]{{5,400}}\s*(?P<done>{_COUNT})\s*/\s*(?P<total>{_COUNT})(?![\d/])"
)
"""indicatif's (tokenizers, polars): `[00:05:15] Count pairs    ███░░░   456715 /  1304921`."""
MMCV = re.compile(
    r"\]\s*(?P<done>\d+)/(?P<total>\d+),\s*[\d.]+ task/s, elapsed:\s*(?P<elapsed>\d+)s,"
    r"\s*ETA:\s*(?P<remaining>\d+)s"
)
STEPS: tuple[tuple[str, re.Pattern[str], Phase | None], ...] = tuple(
    (row.get("needs", ""), pattern, Phase(row["says"]) if "says" in row else None)
    for row, pattern in rows("unhang.parsers.vocabulary", "data/step_lines.toml")
)
"""Step lines: a text without which none is, the pattern, and the phase that it proves.

The phase is None where the label tells it."""
