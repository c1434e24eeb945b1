"""Whose words a line holds: a message of the program, or a text that somebody quotes.

Jobs that train on texts print failure messages of other jobs all day; scripts are echoed, logs are
searched, configurations and differences are shown. Such a line tells nothing of the job. Three
questions decide, the first two answered here:

- what kind of line it is (`ContextReader`): shell echo, comment, difference, quotation, search
  result, or text between fences. Whole threads are quoted or fenced as well, so these marks count
  only where the log around them does without;
- whether a sentence begins a message (`begins_message`): nothing may stand in front of it but what
  loggers, launchers and exceptions put there. In a string, behind the key of a sample or in the
  middle of prose it is somebody else's;
- whether it stands in a text that is shown on lines of its own (`showing`).
"""

from __future__ import annotations

import enum
from functools import lru_cache

from unhang import lazy_re as re
from unhang.model.forms import named
from unhang.sources.fences import Fences, fence_of
from unhang.sources.plan import Wanted
from unhang.sources.showing import SAMPLE, Showing, begins


class LineContext(enum.Enum):
    """What kind of line a text stands on."""

    MESSAGE = "message"
    COMMENT = "comment"
    ECHOED = "echoed"
    """A command, as `set -x` or a prompt shows it."""
    CHANGED = "changed"
    """A line of a difference."""
    QUOTED = "quoted"
    """`> ` in front, as in mails."""
    FOUND = "found"
    """Behind the file and the line that a search prints."""
    FENCED = "fenced"
    """Between the fences of Markdown, the quotes of a docstring, the words of a here-document."""
    RETRIED = "retried"
    """One attempt of several failed, and the program tries again."""
    INSIDE = "inside"
    """Looks like a message, but stands in the middle of a string, a sample or a sentence."""


_PROGRAMS = (
    r"kernel|s(?:run|batch|lurmstepd|lurmd|lurmctld|alloc)"
    r"|(?:mpi|prte?|orte?|horovod|torch|accelerate)(?:run|exec|d)?|mpiexec(?:\.hydra)?|hydra_\w+|deepspeed|raylet|gcs_server|systemd|dockerd"
    r"|containerd|kubelet|(?:ba|da|z|k)?sh|python\d?(?:\.\d+)?|ld\.so|nvidia-\w+|dcgm\w*|nv-hostengine"
    r"|libfabric|pynccl|traps|timeout|env|sudo|make|time|xargs|pdsh@?[\w.-]*|ssh"
)
_CODE_FILE = r"[\w./\\+@-]+\.(?:py|pyx|cpp|cc|cxx|cu|cuh|c|h|hpp|rs|go|jl)"
_FAILS = (
    r"(?i:could not|cannot|can't|unable|error|fail|exception|fatal|abort|crash|panic|unhandled"
    r"|killed|terminat|raised|caused by|\boom)"
)
_HEAD = re.compile(
    rf"\s+|(?!\[(?:{SAMPLE})\]|\d{{1,3}}[.)]\s)(?:"
    r"[A-Z]{4,8}:[\w.]{1,100}:(?=\S)|[A-Z][a-z]{2} +\d{1,2}(?= \d\d:)|[\w.-]{1,80} (?=kernel:)"
    r"|(?:INTERNAL|UNAVAILABLE|ABORTED|UNKNOWN|CANCELLED|DEADLINE_EXCEEDED|FAILED_PRECONDITION):"
    r"|\[[^\[\]]{0,200}(?:\[[^\[\]]{0,80}\][^\[\]]{0,80}){0,3}\]:?"
    r"|\([^()]{0,160}\):?"
    r"|<(?:std\w+|\d{1,2})>:?"
    r"|[\ufffd=|│┃╭╰!~]+|\*{3,}|-{3,}|-- (?=P)|[:,;](?=\s)"
    r"|(?<=[\])|])-(?=\s)|(?<=\S\s)-(?=\s)"
    r"|(?i:trace|debug|info|notice|warn(?:ing)?|error|critical|fatal|severe|panic|alert)\b[:|>-]*"
    r"|[EWIF](?=\s\S)|[A-Z][A-Z_]{1,14}\s*[|-](?=\s)|\^C(?:[EWIF]\d{4} [^\]]{0,80}\] ?)?"
    r"|(?i:(?:global |local )?rank)[ _=:]?\d{1,7}:?(?=\s)"
    r"|(?:[A-Za-z_][\w…]*\.){1,12}(?=[A-Z])"
    r"|[a-z][\w-]{1,20} [0-9a-f]{4}:[0-9a-f:.]{4,10}:(?=\s)"
    r"|(?:[A-Za-z_]\w*\.)*_?[A-Z]\w*(?:Error|Exception|Warning|Failure|Failed|Interrupt|Exit|Fault"
    r"|Timeout|Died|Aborted)(?:\(\w{0,60}\))?:"
    r"|what\(\):"
    rf"|(?=\w)(?:[\w/(][\w.,'/()-]* ){{0,5}}(?:[\w/(][\w.'/()-]*)?{_FAILS}[\w.'/()-]*"
    r"(?: [\w/(][\w.,'/()-]*){0,6}:(?=\s)"
    rf"|(?:{_PROGRAMS})(?:\[\d+\])?:"
    r"|[\w.-]{1,80}\[\d+\]:"
    r"|(?![^:\s]*\.(?:log|txt|out|err|md|jsonl?|csv|py|sh|ya?ml|toml|cc?|cpp|cuh?|h):)"
    r"(?=[^:\s]*\d)[a-z][a-z0-9-]{0,62}(?:\.[a-z][a-z0-9-]{0,62}){2,8}:(?=\s)"
    r"|(?![^:\s]*\.(?:log|txt|out|err|md|jsonl?|csv)\b)(?:[A-Za-z]:|[\w.~]{1,40})?"
    r"[\\/][\w./\\+-]{1,200}:(?=\s)"
    r"|[A-Z]{2,8}\d{1,4}:(?=\s)"
    r"|(?:node|host|worker|compute|server|trainer|master|launcher|dgx|hgx|gpu|nid|pod)[\w.-]{0,80}:(?=\s)"
    r"|line \d{1,7}:"
    r"|[\w.-]{1,80}: Test (?=[CN])|Test (?=[CN])"
    rf"|{_CODE_FILE}(?::\d{{1,7}})+:?(?=[\s\]])\]?"
    r"|[\w.+-]{1,60}: (?:fatal )?(?:error|warning):"
    r"|(?!\d{1,7}\s{2})\d(?:[\d:.,/T-]*[\dZ])?(?=[\s:])"
    r"|(?:[A-Za-z_]\w*\.){1,6}\w+(?::[\w<>]{1,60})?(?::\d{1,6})? [|-](?=\s)"
    r"|.{0,200}?\d{1,3}%[|┃](?:.{0,200}[\]/s]|[█▏▎▍▌▋▊▉#]{1,200}(?=[A-Z]))"
    r"|.{0,200}\b(?:it/s|s/it)\]?)"
)
"""What may stand in front of a message: what loggers, launchers, programs and exceptions put there,
and a progress bar that was not ended."""
_PATTERNS = named("unhang.sources", "data/context.toml")
_WORDS = _PATTERNS["words"]
_CELLS = re.compile(r"\s*[|│┃][^|│┃]*[|│┃]")
"""The beginning of a row: one bar alone is the frame of a box."""
_ROW = re.compile(
    r"[\w.-]{1,40}\t-?\d[\d.]{0,20}\t|\s{0,8}[|│┃][^|│┃]{1,4000}[|│┃][^|│┃]{1,80}[|│┃]\s*$|\d{1,9}[|\t](?=[^|\t]{0,80}[A-Za-z])"
    r"|\s{0,3}\d{1,9} {1,9}\| .{0,4000} \| [\w.-]{1,40}\s*$"
    r"|[\w.:+-]{0,40},(?:(?:\"[^\"]*\"|[^,\"]{0,200}),(?! )){3}"
)
"""A record of several fields, behind its number or before its label."""
_INDENTED = _PATTERNS["indented"]
"""Programs indent the cells of a table and the points of a list, not the beginning of a message."""
_BAR = re.compile(r"\d{1,3}%[|┃ ].{0,200}[\]/s]")
"""Bars that stand below the columns of a table are indented as these are."""
_OF_SOURCE = re.compile(r"\.(?:cpp|cc|cu|hpp|h):\d{1,7}\]$")
"""A place in the source of a runtime."""
_LONGEST_LEAD = 2_000


def begins_message(text: str, position: int, *, within: bool = False) -> bool:
    """Whether what begins at `position` begins a message of the program that printed `text`.

    Args:
        text: a line without its wrappers.
        position: where a sentence was found in it.
        within: a few plain words may stand in front: the sentence was not found from its beginning.

    >>> begins_message("RuntimeError: CUDA error", 14), begins_message("prompt: CUDA error", 8)
    (True, False)
    """
    if position == 0:
        return True
    if _ROW.match(text) is not None or _INDENTED.match(text) is not None:
        return False
    return _only_heads(text[: position + 1], within)


@lru_cache(maxsize=4_096)
def _only_heads(text: str, within: bool) -> bool:
    """Whether only such things stand before the last character."""
    end = len(text) - 1
    if end > _LONGEST_LEAD or _CELLS.match(text, 0, end) is not None:
        return False
    at = 0
    while at < end:
        if text[at:end].isspace():
            return True
        head = _HEAD.match(text, at)
        if head is None or not at < head.end() <= end:
            return within and _WORDS.fullmatch(text, at, end) is not None
        at = head.end()
    return True


_COMMENT = re.compile(
    r"\s*(?:#(?![\d#!]|\s*Out of bounds)|//|<!--|%%? |;; |\*{1,2}\s+\S|#{2,6} [A-Za-z\[])"
)
_ECHO = _PATTERNS["echo"]
_SPOKEN = re.compile(r"\[?[\d:.,]{5,14} --> [\d:.,]{5,14}\]")
"""From when until when a sentence was spoken."""
_CHANGE = re.compile(r"[+-](?![-+=\d\s>])\S|[+-] {4,}\S|E {3,40}[-+?] \S")
_FOUND = _PATTERNS["found"]
_FENCE = re.compile(r"\s*(?:```|~~~(?![~^\s]*\^))")
"""Python marks a part of a line so: `~~~~~^~~~~`."""
_DOCSTRING = re.compile(r"(?:\s*|[\w.-]{1,60} ?= ?)[rbfuRBFU]{0,2}(\"\"\"|''')")
_HERE = re.compile(r"<<-?\s*['\"]?([A-Z_]{2,20})['\"]?\s*$")
_WORKING = _PATTERNS["working"]
_WORK_WORDS = ("step", "epoch", "iter", "loss", "lr", "it/s", "s/it", "<")
"""Of these it has one: most lines are seen to hold none at once."""


class ContextReader:
    """Tells the context of each line of one artifact, in order.

    Fences and quotations are judged at the end (`foreign`): they are the form of the artifact where
    the log itself stands in them, and no part of the log where it stands around them.
    """

    WANTED = Wanted(needles=("```", "~~~", '"""', "'''", "<<", *Showing.WANTED.needles), after=0)

    def __init__(self) -> None:
        self._closing: str | None = None
        self._opened = 0
        self._told_inside = False
        self._marked: list[int] = []
        self._bare = 0
        self._outside = 0
        self._gaps = 0
        self._number = 0
        self._begun = ""
        self._in_string = False
        self._first = LineContext.MESSAGE
        self._showing = Showing()
        self._between = Fences()
        self._prefixes: set[str] = set()

    def may_matter(self, line: str, *, gap: bool) -> bool:
        """Whether a line that no reader wants may begin or end a shown text; cheap."""
        if gap:
            self._showing.finish()
            self._gaps += 1
        if self._showing.is_open or begins(line) is not None:
            return True
        fence = fence_of(line)
        return fence is not None and (self._between.is_open or not fence[1])

    def pass_by(self, text: str, number: int, *, raw: str) -> None:
        """See a line that no reader wants."""
        self._see(text, number, raw=raw, told=len(text) < len(raw), gap=False)

    def _see(self, text: str, number: int, *, raw: str, told: bool, gap: bool) -> None:
        """Follow the texts that are shown on lines of their own."""
        prefix = raw[: len(raw) - len(text)].strip().translate(_MASK) if told else ""
        opened = self._showing.is_open or self._between.is_open
        own = opened and (prefix in self._prefixes or is_work(text))
        # No text begins behind a place in source code: `we are taking the process down` is torch's.
        if self._showing.is_open or gap or _OF_SOURCE.search(prefix) is None:
            self._showing.see(text, number, raw=raw, own=own, gap=gap)
        self._between.see(text, number, own=own or len(text) < len(raw.rstrip()))
        if prefix and not self._showing.is_open and len(self._prefixes) < _MOST_PREFIXES:
            self._prefixes.add(prefix)

    def read(
        self,
        text: str,
        number: int,
        *,
        raw: str,
        marked: bool = False,
        told: bool = False,
        gap: bool = False,
    ) -> LineContext:
        """The context of a line.

        Args:
            text: what is left of it when its wrappers are peeled off.
            number: of the line; several messages may share one.
            raw: the message with its wrappers.
            marked: a mark of a quotation was among its wrappers.
            told: its wrappers tell who printed it, when, or how severe it is.
            gap: lines before it were skipped.
        """
        if number == self._number:
            inside = self._first is LineContext.MESSAGE and (
                self._in_string or breaks_off(self._begun)
            )
            self._begun = (self._begun + raw)[-_LEAD:]
            self._in_string ^= _is_opened(raw)
            return LineContext.INSIDE if inside else self._first
        context = self._context(text, raw, marked=marked)
        self._see(text, number, raw=raw, told=told, gap=gap)
        self._gaps += gap
        self._number, self._begun, self._first = number, raw, context
        self._in_string = _is_opened(raw)
        if context in _RELATIVE and self._bare >= _LOG:
            self._marked.append(number)
            if context is LineContext.FENCED and told and len(self._marked) > self._opened + 1:
                self._told_inside = True
        elif context is LineContext.MESSAGE and (told or is_work(text)):
            self._bare += 1
            self._outside += not self._showing.is_open
        return context

    def _context(self, text: str, raw: str, *, marked: bool) -> LineContext:
        if self._fenced(text):
            return LineContext.FENCED
        if marked:
            return LineContext.QUOTED
        if _FOUND.match(text) is not None:
            return LineContext.FOUND
        if _ECHO.match(text) is not None:
            return LineContext.ECHOED
        if _COMMENT.match(text) is not None:
            return LineContext.COMMENT
        if _SPOKEN.match(raw) is not None:
            return LineContext.INSIDE
        if _INDENTED.match(raw) is not None and _BAR.search(raw) is None:
            return LineContext.INSIDE
        if _tries_again(text):
            return LineContext.RETRIED
        return LineContext.CHANGED if _CHANGE.match(text) is not None else LineContext.MESSAGE

    def _fenced(self, text: str) -> bool:
        """Whether a line is a fence, or stands between two."""
        if self._closing is not None:
            if text.strip().startswith(self._closing) or text.rstrip().endswith(self._closing):
                self._closing = None
            return True
        opened = None
        if (fence := _FENCE.match(text)) is not None:
            opened = fence[0].strip()
        elif (docstring := _DOCSTRING.match(text)) is not None:
            opened = docstring[1]
            if text.count(opened) > 1:
                return True
        elif (here := _HERE.search(text)) is not None:
            opened = here[1]
        if opened is not None:
            self._opened, self._told_inside = len(self._marked), False
        self._closing = opened
        return opened is not None

    @property
    def shows(self) -> bool:
        """Whether a text was shown, as far as was read."""
        return len(self._showing.shown) + len(self._between.shown) > 0

    def foreign(self) -> frozenset[int]:
        """The numbers of the lines that were quoted, and are no part of the log around them.

        What never ends, and is told as the log is, was no fence: a frame's source line may look so.
        """
        self._showing.finish()
        if self._closing is not None and self._told_inside:
            del self._marked[self._opened :]
        outside = self._outside >= _LOG or self._gaps > 0
        shown = self._showing.shown | self._between.shown if outside else frozenset()
        return shown.union(self._marked if self._bare > len(self._marked) else ())


_ATTEMPT = _PATTERNS["attempt"]
_AGAIN = re.compile(r"\b(?:re-?try(?:ing)?|re-?tried|try(?:ing)? again)\b", re.IGNORECASE)
_ATTEMPT_WITHIN = 120


def _tries_again(text: str) -> bool:
    """Whether a line tells of a failed attempt that is not the last one.

    >>> _tries_again("attempt 1 of 5 failed: CUDA error; retrying in 3 s")
    True
    >>> _tries_again("attempt 5 of 5 failed: CUDA error"), _tries_again("Attempt 1 failed: CUDA")
    (False, False)
    """
    told = _ATTEMPT.search(text[:_ATTEMPT_WITHIN])
    if told is None:
        return False
    if told["all"] is not None:
        return int(told["number"]) < int(told["all"])
    return _AGAIN.search(text, told.end()) is not None


def is_work(text: str) -> bool:
    """Whether a line shows how far a program has come."""
    folded = text.casefold()
    return any(word in folded for word in _WORK_WORDS) and _WORKING.search(text) is not None


_IN_STRING = re.compile(r"""(?:^|[\s=:,(\[{])(?:[rbfu]{0,2}["']|`)[^"'`]{0,60}$""")
_KEY = _PATTERNS["key"]
_SENTENCE = re.compile(r"[a-z]{2,} $")
_ENDED = re.compile(r"(?:[\])%!…}\w]|(?<!\.)\.)[ ]?$|\d\d:\d\d:\d\d|\bit/s|s/it|\s-$")
"""How a message ends, or a collector's prefix with its time."""
_LINE_END = "\\n"
"""The end of a line as a string writes it."""
_LEAD = 600
"""Characters before a message that are looked at."""
_PART = re.compile(rf"(?:^|\s)\d{{1,3}}[.)]\s?$|\[{SAMPLE}\]\s?$")
"""A point of a list, or a part of a sample."""


def breaks_off(lead: str) -> bool:
    """Whether what stands before a message leads to it, as a key, a quote or prose does.

    Processes that share a stream interrupt each other, mostly between lines or words.
    """
    lead = lead[-_LEAD:]
    head = lead.rstrip("[<")  # the frame of what follows
    if begins_message(head + "x", len(head)):
        return False
    return (
        _ROW.match(lead) is not None
        or _is_opened(lead)
        or lead.endswith(_LINE_END)
        or any(p.search(lead) is not None for p in (_IN_STRING, _KEY, _SENTENCE))
        or lead.strip() in _MARKS
        or _PART.search(lead) is not None
        or _ENDED.search(lead) is None
    )


def _is_opened(text: str) -> bool:
    """Whether a string begins here and does not end, or one ends that began before."""
    return text.replace('\\"', "").count('"') % 2 == 1


_MASK = str.maketrans("123456789", "000000000")
_MOST_PREFIXES = 200
_LOG = 3
"""Lines of a log before a quotation stands in it."""
_MARKS = frozenset({"-", "+", "#", "//", ">", "•", "<p>"})
_RELATIVE = frozenset({LineContext.QUOTED, LineContext.FOUND, LineContext.FENCED})
OTHERS = frozenset(
    {
        LineContext.COMMENT,
        LineContext.ECHOED,
        LineContext.CHANGED,
        LineContext.RETRIED,
        LineContext.INSIDE,
    }
)
"""Contexts in which a line is no message, whatever surrounds it."""
