r"""Finds texts that a log shows on lines of their own: samples, chats, pages, differences.

A line says by itself whether it is quoted where a mark stands before it. In a text that is shown
whole only its surroundings tell: a construct that shows texts is open there. Its beginning is a
form, not a wording: a tag, a token of a chat template, a heading that names the part of a sample, a
hunk, the name of a file between arrows, a person who speaks. It counts only once something has
confirmed that the text went on: its end, another beginning, or the log's own lines::

    ### Input:
    slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.
    ### Response:

Where nothing but the failure follows, the text had ended unseen, and the failure is the job's.

A line may also lead to what it shows, whatever its words: it breaks off with a colon, it is what
somebody types into a shell, or it draws the top of a box. Such a text is short, tells of trouble
from its first line to its last, and is confirmed by a line of another kind that follows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from unhang import lazy_re as re
from unhang.model.forms import named
from unhang.sources.plan import Wanted

_PATTERNS = named("unhang.sources", "data/showing.toml")
SAMPLE = (
    r"(?i:prompts?|completions?|responses?|questions?|answers?|instructions?|generat(?:ed|ion)s?"
    r"|samples?|examples?|contexts?|passages?|documents?|user|human|assistant|system|reference"
    r"|ground[_ ]truth|hypothesis|target|source|chosen|rejected|input|output|text|content|caption"
    r"|message|label|decoded|solution|query|score|reward)"
)
"""What the parts of a sample are called that trainers print: TRL, verl, OpenRLHF, trlx, NeMo."""
_SPOKEN = r"(?i:prompt|completion|response|question|answer|instruction|user|human|assistant)"

_OF_WHAT = (
    r"(?i:the|model|dataset|first|last|training|eval|begin|end|decoded|expected|actual|raw|test)"
)
_HEADING = re.compile(
    rf"(?:\W{{2,80}}|\[)?(?:{_OF_WHAT} ){{0,2}}{SAMPLE}"
    r"(?:[ _#-]{0,2}[\w/]{1,12}){0,2}(?: \([^()]{1,60}\))?(?:\[\d{1,6}\])?(?:\]|:|\W{2,80})"
    rf"|#{{1,6}} {SAMPLE}(?: [\w/]{{1,12}})?"
    rf"|\W{{3,80}}(?i:begin|end) {SAMPLE}(?: [\w/]{{1,12}})?"
)
"""A line that is nothing else: `### Input:`, `Sample 3 (step 120):`, `----- prompt -----`."""
_BOLD = re.compile(r"\*\*[A-Z][^*]{1,80}\*\*:?")
"""A heading in Markdown, or who speaks there."""
_LABEL = re.compile(r"(?:>{2,4}|[-*•]) ?[A-Za-z][\w-]{1,30}:?")
"""One word behind a mark, alone on its line: who speaks, or what of two things is shown."""
_ROLE = re.compile(rf"{_SPOKEN}(?:[ #]?\d{{1,6}})? ?[:>] ?(?=\S)")
_TOKEN = _PATTERNS["token"]
_TAG = _PATTERNS["tag"]
_BEGIN = _PATTERNS["begin"]
_REMARK = re.compile(r"\s*/\*(?!.*\*/)")
_CUE = re.compile(r"(?:\d\d:\d\d:\d\d[.,]\d{3} )?--> \d\d:\d\d:\d\d[.,]\d{3}")
"""The times of a subtitle."""
_HUNK = re.compile(r"@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@")
_OF_HUNK = re.compile(r"[ +\\-]")
_FILE = re.compile(r"==> \S.{0,200} <==$")
_PROMPT = _PATTERNS["prompt"]
_SHOWS = _PATTERNS["shows"]
_PERSON = _PATTERNS["person"]
_SENTENCE = re.compile(r"[\"“A-Z我你您].{8,}[.:?!？：。！]\s*$")
_QUESTION = re.compile(r"\w[\w',: ]{2,200} [\w']+\?$")
_SCORED = re.compile(rf"\W{{0,5}}{SAMPLE}\W{{0,4}}\s?-?\d[\d.]{{0,12}}\W{{0,3}}")
"""What a sample came to: the last part of one."""
_BLOCK = re.compile(r"(?P<indent>\s*)[\w.-]{1,60}: [|>][-+]?\d?\s*$")
"""A text of YAML that goes on as long as it is indented."""
_RULE = re.compile(r"\s*(?:={3,80}|-{3,80}|\*{3,80}|#{3,80}|~{3,80}|_{3,80})\s*$")
_LEADS = _PATTERNS["leads"]
_BOX = _PATTERNS["box"]
_VALUE = _PATTERNS["value"]
_BOTTOM = re.compile(r"[╰└╚┗]|^\s*\+-{3,200}\+?\s*$")
_SHELL = _PATTERNS["shell"]
_TYPED = _PATTERNS["typed"]
_TITLE = _PATTERNS["title"]
_MAIL = _PATTERNS["mail"]
_SPEAKS = _PATTERNS["speaks"]
_RUNS = _PATTERNS["runs"]
TELLS = _PATTERNS["tells"]
_GOES_ON = _PATTERNS["goes_on"]
_PROSE = _PATTERNS["prose"]
_BEGINNING, _SPACES_OF_PROSE = 200, 4
_MOST_LED = 40
_LONGEST_LEAD = 400
_FIRST = frozenset("<>@/\\*#=[~_-(IO$%+❯➜╭┌╔┏")
_LAST = frozenset("?:.!？：。！>]=|")
"""How any beginning begins or ends, but for a part of a sample with its text behind it."""


@dataclass(slots=True)
class _Text:
    """A shown text whose end has not come.

    Attributes:
        closing: what ends it; None = another beginning, or the log's own lines.
        lines: numbers that are not confirmed.
        sure: its form is unmistakable: it needs no confirmation.
        hunk: it goes on as long as its lines begin like those of a hunk.
        within: it goes on as long as its lines are indented deeper than so many signs.
        mail: it is the head of a mail, unless what follows is none.
        led: it goes on as long as its lines tell of trouble.
        prose: it was led to by a sentence, so that only a sentence confirms it.
    """

    closing: re.Pattern[str] | None = None
    lines: list[int] = field(default_factory=list)
    sure: bool = False
    hunk: bool = False
    within: int | None = None
    mail: bool = False
    led: bool = False
    prose: bool = False

    def is_left(self, raw: str) -> bool:
        """Whether a line is no longer of a form that all its lines have."""
        if self.within is not None:
            return bool(raw.strip()) and len(raw) - len(raw.lstrip(" ")) <= self.within
        return self.hunk and _OF_HUNK.match(raw) is None

    def contains(self, begun: _Text) -> bool:
        """Whether what seems to begin is a part of it."""
        return (self.sure and not self.hunk) or (begun.led and not self.led)


class Showing:
    """Follows the shown texts of one artifact, line by line."""

    WANTED = Wanted(needles=("@@ -", "/*", "\\begin{", "==> ", "<pre"), after=0)

    def __init__(self) -> None:
        self._open: _Text | None = None
        self._shown: set[int] = set()

    @property
    def is_open(self) -> bool:
        """Whether a text has begun whose end has not come."""
        return self._open is not None

    @property
    def shown(self) -> frozenset[int]:
        """Numbers of the lines of all shown texts."""
        return frozenset(self._shown)

    def see(
        self, text: str, number: int, *, raw: str = "", own: bool = False, gap: bool = False
    ) -> None:
        """Take a line, in order.

        Args:
            text: without its wrappers.
            number: of the line.
            raw: with its wrappers.
            own: the log itself speaks: at work, or under a prefix that it used before.
            gap: lines before it were not seen.
        """
        if gap:
            self._end(confirmed=False)
        if own:
            self._end(confirmed=self._open is not None and not self._open.prose)
            return
        begun = begins(text)
        if begun is not None and begun.led and len(text) < len(raw.rstrip()):
            begun = None  # the log itself speaks, under its own prefix
        if begun is None and raw.startswith(">>"):  # a prompt or a label, not a quotation
            begun = begins(raw)
        if self._open is None:
            self._open = begun
            return
        if self._open.mail and _MAIL.match(text) is not None:
            self._open = _Text(sure=True)  # two fields of a head: no program begins so
            return
        if self._open.is_left(raw or text):
            self._end(confirmed=True)
            self._open = begun
            return
        if begun is not None and self._open.contains(begun):
            begun = None
        if self._open.led and not self._leads_on(text):
            self._open = begun
            return
        closing = self._open.closing
        ended = _SCORED.fullmatch(text) if closing is None else closing.search(text)
        closed = ended is not None
        self._open.lines.append(number)
        if closed or (begun is not None and not self._open.hunk):
            self._end(confirmed=True)
            self._open = begun
        elif self._open.sure or (_RULE.match(text) is not None and not self._open.led):
            self._confirm()

    def _leads_on(self, text: str) -> bool:
        """Whether a text that a line led to goes on; what it was is confirmed where it ends."""
        assert self._open is not None
        text = text[:_LONGEST_LEAD]
        if not text.strip():
            return True
        said = _explains(text) and len(self._open.lines) > 0
        if said or is_calm(text):
            self._end(confirmed=said or not self._open.prose or _PROSE.match(text) is not None)
            return False
        begins_well = len(self._open.lines) > 0 or TELLS.search(text) is not None
        return begins_well and len(self._open.lines) < _MOST_LED

    def finish(self) -> None:
        """The artifact has ended."""
        self._end(confirmed=False)

    def _confirm(self) -> None:
        assert self._open is not None
        self._shown.update(self._open.lines)
        self._open.lines.clear()

    def _end(self, *, confirmed: bool) -> None:
        if self._open is not None and confirmed:
            self._confirm()
        self._open = None


def begins(text: str) -> _Text | None:
    """The shown text that a line begins, or goes on with.

    >>> begins("### Input:") is None, begins("Root Cause (first observed failure):") is None
    (False, True)
    """
    bare = text.strip()
    if not bare or (
        bare[0] not in _FIRST
        and bare[-1] not in _LAST
        and "|" not in bare[-3:]
        and ">" not in bare[-3:]
        and _ROLE.match(bare) is None
        and _MAIL.match(bare) is None
        and "@" not in bare[:_BEGINNING]
        and not bare.startswith("PS ")
        and "-->" not in bare[:_BEGINNING]
        and _TYPED.match(bare) is None
        and bare[:_BEGINNING].count(" ") < _SPACES_OF_PROSE
    ):
        return None
    tag = _TAG.match(text)
    if tag is not None and _TOKEN.match(tag[0]) is None:
        return _Text(re.compile(rf"</{re.escape(tag['name'])}>"))
    begin = _BEGIN.match(text)
    if begin is not None:
        return _Text(re.compile(rf"\\end\{{{begin['name']}"))
    if _BOX.match(bare) is not None:
        return _Text(_BOTTOM)
    value = _VALUE.match(bare)
    if value is not None and TELLS.search(bare, value.end("name")) is not None:
        return _Text(_VALUE)
    if _REMARK.match(text) is not None:
        return _Text(re.compile(r"\*/"))
    formed = _formed(text)
    if formed is not None:
        return formed
    if any(p.match(text) is not None for p in (_FILE, _SHOWS, _CUE)):
        return _Text()
    if _goes_on(text):
        return _Text()
    if len(bare) > _LONGEST_LEAD or (text[:1].isspace() and bare[-1] not in "|>"):
        return None  # code stands indented in tracebacks
    if _leads(bare):
        return _Text(led=True, mail=_MAIL.match(bare) is not None)
    told = _PROSE.match(bare) is not None and is_calm(bare)
    return _Text(led=True, prose=True) if told else None


def _formed(text: str) -> _Text | None:
    """A text whose lines all have one form."""
    block = _BLOCK.match(text)
    if block is not None:
        return _Text(sure=True, within=len(block["indent"]))
    return _Text(sure=True, hunk=True) if _HUNK.match(text) is not None else None


def is_calm(text: str) -> bool:
    """Whether a line tells of no trouble."""
    if _SHELL.match(text) is not None:
        return True
    return _GOES_ON.match(text) is None and TELLS.search(text) is None


def _explains(text: str) -> bool:
    """Whether a sentence stands indented below what it explains, as in a glossary or a manual."""
    bare = text.strip()
    said = text[:1].isspace() and bare.endswith(".") and _PROSE.match(bare) is not None
    return said and TELLS.search(bare) is None


def _leads(bare: str) -> bool:
    """Whether a line breaks off before a text that it shows."""
    shell = _SHELL.match(bare)
    if shell is not None:
        return shell["types"] is not None and _RUNS.match(shell["types"]) is None
    if _MAIL.match(bare) is not None or _TYPED.match(bare) is not None:
        return True
    leads = _LEADS.match(bare) or _TITLE.match(bare)
    return leads is not None and is_calm(bare)


def _goes_on(text: str) -> bool:
    """Whether people speak, or a part of a sample begins."""
    bare = text.strip()
    headings = (_HEADING, _BOLD, _LABEL)
    if len(bare) < 200 and any(heading.fullmatch(bare) for heading in headings):
        return True
    if _SPEAKS.match(bare) is not None:
        return True
    bare = bare.replace("**", "")
    if _ROLE.match(bare) is not None or _PROMPT.match(bare) is not None:
        return True
    if _TOKEN.match(bare) is not None or any(
        m.end() == len(bare) and not bare[: m.start()].rstrip().endswith((":", "="))
        for m in _TOKEN.finditer(bare)  # behind a name it is a setting: `eos token: <|im_end|>`
    ):
        return True
    if _QUESTION.match(bare) is not None:
        return True
    return _SENTENCE.match(bare) is not None and _PERSON.search(bare) is not None
