"""What the lines of a Python traceback look like, in all the forms in which logs hold them.

Every pattern searches, because loggers put text in front and ranks write into one line.
"""

from __future__ import annotations

from unhang import lazy_re as re
from unhang.model.events import Frame
from unhang.model.forms import named

HEADER = re.compile(r"(?P<before>.*?)(?P<original>Original )?Traceback\s*\(most recent call last\)")
OF_THE_KERNEL = frozenset({"LustreError"})
"""What kernel modules print looks like the name of an exception."""
RANK_BEHIND = re.compile(r"\(most recent call last\): \(RANK (?P<rank>\d{1,6})\)")
RANKS_LISTED = re.compile(r"\branks:dict_keys\(\[(?P<ranks>\d{1,6}(?:, ?\d{1,6}){0,4095})\]\)")
"""`torch/distributed/checkpoint/api.py`, `CheckpointException` (2.0 to 2.9)."""
SHOWN = re.compile(r":?\s{0,4}(?:[\])}»”’\"'`]|\\n)")
"""Behind a header: it stands in a quotation, a link, or a string."""
_PATTERNS = named("unhang.parsers.vocabulary", "data/python_text.toml")
FRAME = _PATTERNS["frame"]
RICH_FRAME = re.compile(r"[│|]\s+(?P<file>\S+\.py):(?P<line>\d{1,9})\s+in\s+(?P<function>[\w.<>]+)")
DUMP_FRAME = re.compile(r'File "[^"]*", line \d+ in ')
"""faulthandler: no comma before `in`; a dump of threads, no exception."""

CHAINED = _PATTERNS["chained"]
THREAD = re.compile(r"Exception in thread (?P<name>[^:]{1,80}):?")
PROCESS = re.compile(r"Process (?P<name>[\w.-]{1,60}-\d+(?::\d+)*):\s*$")
IGNORED = _PATTERNS["ignored"]
GOES_ON = _PATTERNS["goes_on"]
"""What is said of an error, in one line with it, by a program that does not end by it."""
NEVER_RETRIEVED = re.compile(r"Task exception was never retrieved|Exception in callback ")
SPAWNED = re.compile(r"-- Process (?P<index>\d{1,9}) terminated with the following error")
WRAPPED = re.compile(r"Caught \w+ in (?P<where>[^\n.]{1,80}?)\.?\s*$")
"""`Caught KeyError in DataLoader worker process 7.`: the original traceback follows."""

RAY_TASK = _PATTERNS["ray_task"]
TABLE_RANK = re.compile(r"\brank\s*:\s*(?P<rank>\d{1,9})\s*\(local_rank:\s*(?P<local>\d{1,9})\)")
TABLE_CELL = re.compile(r"traceback\s*:\s*$")
STACK_ONLY = re.compile(r"\bStack \(most recent call last\)|^Call stack:|most recent call first")

ANNOUNCING = ("Exception ", "Process ", "Error in ", "Logging error", "never retrieved", "all")
"""One of these is in each line that says whose traceback comes next."""

NAMED_RANK = re.compile(r"\[?\b(?:rank|RANK|Rank)[\s:=]*(?P<rank>\d{1,9})\b|\bTP(?P<tp>\d{1,9})\]")
OTHER_AXES = re.compile(r"\b(?:DP|PP|EP)\d+\b")

_LEVEL = re.compile(r"\b(?:WARN(?:ING)?|INFO|DEBUG)\b", re.IGNORECASE)
_BARS = re.compile(r"^[ \t]*[|+│][ \t|+│-]*")
_SUFFIX = (
    r"(?:Error|Exception|Interrupt|Exit|Expired|Timeout|Iteration|Failed|Failure|Died|"
    r"Aborted|Mismatch|Group)"
)
_LAST = re.compile(
    rf"^(?:[A-Za-z_]\w*\.)*(?P<name>_?[A-Z]\w*{_SUFFIX}|(?:Base)?Exception)(?P<inner>\(\w+\))?"
    r"\s*(?::\s*(?P<text>.*))?$"
)
_LAST_DOTTED = _PATTERNS["last_dotted"]
_LAST_GLUED = re.compile(r"^(?P<name>[A-Z]\w{2,60}?(?:Error|Exception|Interrupt))(?P<text>\S.*)$")
_LAST_ALONE = _PATTERNS["last_alone"]
_SHAPE = re.compile(r"\d")
_DOUBLED = re.compile(r"(\w{4,60}?)\1+")
_LONGEST = 4000
"""Characters of a line that are looked at for its last line."""


def read_frame(text: str) -> tuple[str, Frame] | None:
    """The text before a frame line and the frame, or None."""
    match = FRAME.match(text) if 'File "' in text else None
    if match is None:
        match = RICH_FRAME.search(text)
        if match is None:
            return None
        return "", _frame(match)
    if match["function"] is None and DUMP_FRAME.search(text):
        return None
    return match["before"], _frame(match)


def _frame(match: re.Match[str]) -> Frame:
    number = match["line"]
    return Frame(
        file=match["file"].replace("\\", "/"),  # places are told apart by the marks of one system
        line=int(number) if len(number) < 9 else None,
        function=(match["function"] or "").strip(),
    )


def read_last_line(text: str, *, crowded: bool = False) -> tuple[str, str] | None:
    """Class name and message of the line that ends a traceback, or None.

    Args:
        text: the line without logger text.
        crowded: several processes write into this stream, so names may be glued.
    """
    bare = _BARS.sub("", text[:_LONGEST]).strip()
    match = _LAST.match(bare) or _LAST_DOTTED.match(bare)
    if match is None and crowded:
        match = _LAST_GLUED.match(bare)
    if match is None or _name(match).endswith("Warning"):
        return None
    name, message = _name(match), (match["text"] or "").strip()
    doubled = _DOUBLED.fullmatch(name) if crowded else None
    name = name if doubled is None else doubled[1]
    return name, message.removeprefix(name).lstrip(": ").strip()


def _name(match: re.Match[str]) -> str:
    """A class that is named alone must be a known one: the name may be cut."""
    return match["name"] or match.groupdict().get("bare") or ""


def read_lone_last_line(text: str) -> tuple[str, str] | None:
    """Class name and message of a last line whose traceback is lost: stricter than inside one."""
    match = _LAST_ALONE.search(text[:_LONGEST])
    if match is None:
        return None
    if match["bare"] is not None:
        return match["bare"], ""
    return match["name"], match["text"].strip()


def strip_logger(text: str, prefix: str) -> str:
    """Take off what a logger put in front of the traceback's first line; digits may differ."""
    if not prefix:
        return text
    head = text[: len(prefix)]
    if head == prefix or _SHAPE.sub("0", head) == _SHAPE.sub("0", prefix):
        return text[len(prefix) :]
    return text


def is_mere_log(prefix: str) -> bool:
    """Whether a logger printed it below the level of errors: the program went on."""
    return _LEVEL.search(prefix) is not None
