r"""From headings and loggers above a line to who prints it, where it has no mark of its own.

Two forms are common. Launchers and people gather the output of several processes under headings::

    ==> logs/rank3.log <==                  (tail, head)
    ----------Begin global rank 11 STDERR----------
    ######## stderr of rank 3 ########

and a logger puts its prefix in front of the first line of an exception only::

    2026-06-06 06:09:31 | ERROR | rank=6 | An error has been caught
    Traceback (most recent call last):

What a heading does not name stays unknown, and a line's own prefix always counts more. A logger
that tells of another process than itself (`[rank 0] worker 3 died:`) passes nothing on.
"""

from __future__ import annotations

from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.forms import named
from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import Origin
from unhang.sources.hints import origin_of
from unhang.sources.peel import PeeledMessage, peel
from unhang.sources.plan import Wanted
from unhang.sources.terminals import HostsAbove

_TAIL = re.compile(r"==> (?P<path>[^<>\n]{1,300}) <==\s*$")
_RULE = r"(?:[-=#*~_>+<]{3,}|[-=#*~>]{2,} )"
_WORD = (
    r"(?:begin|start|end|log|logs|output|tail|std ?err|std ?out|error|of|from|for|the|process"
    r"|file|last|lines?|\d{1,5})"
)
_TAIL_WORD = (
    rf"(?:{_WORD}|on|at|host|node|(?:pid|gpu)[ :=]?\d{{1,8}}|[a-z][\w.-]{{0,60}}\d[\w.-]{{0,60}})"
)
"""What may follow a rank: the stream, its process, a host (a name with a number)."""
_NAMED = re.compile(
    rf"\s*{_RULE}\s*(?:{_WORD}[\s:]{{1,3}}){{0,6}}"
    r"(?:(?P<axis>global[ _-]?rank|rank|local[ _-]?rank)[ :=_#-]{0,2}(?P<number>\d{1,6})"
    r"|(?:pod|node|host)[ :=/]{1,2}(?P<host>[A-Za-z][\w.-]{0,120}))"
    rf"(?:[\s:.,@/(\[]{{1,3}}{_TAIL_WORD}[)\]]?){{0,4}}[\s:]{{0,2}}(?:[-=#*~_<>+]{{2,}})\s*$",
    re.IGNORECASE,
)
_STACK_OF = re.compile(
    r"\s*(?:[-=#*~>]{2,}\s*(?:\d\d:\d\d(?::\d\d)?\s+)?(?:pid[ :=]?\d{1,9}[\s,]+)?"
    r"(?P<axis>(?:global|local)?[ _-]?rank|worker|proc(?:ess)?|trainer|)[ :=#_]{0,2}(?:RANK=)?"
    r"(?P<number>\d{1,5})(?![\w.])(?:[ ,(](?:worker|pid|host|on|at)\b.{0,60}?)?\s*[-=#*~<]*"
    r"|(?:[\w.-]{1,60}[\s,]+)?pid[ :=]?\d{1,9}[\s,]+rank[ :=#_]{0,2}(?P<listed>\d{1,5})"
    r"|\$ .{0,120}?\b(?:gdb|py-spy|pystack|/stack)\b.{0,160}?#\s*"
    r"(?P<of>(?:global|local)?[ _-]?rank)[ :=#_]{0,2}(?P<said>\d{1,5}))\s*$",
    re.IGNORECASE,
)
"""What people write above the stack of a process; only a stack right below makes it a heading."""
_STACK = re.compile(
    r"\s{0,4}(?:Process \d+: |Thread (?:0x)?[\da-f]+\b|Current thread 0x|#0 +0x|#0 +\S+ \()"
)
_ENDS = re.compile(rf"\s*{_RULE}\s*end\b", re.IGNORECASE)
_PATTERNS = named("unhang.sources", "data/headings.toml")
_TRACEBACK = _PATTERNS["traceback"]
_STILL = _PATTERNS["still"]
_SAYS_ERROR = _PATTERNS["says_error"]
_OTHERS = _PATTERNS["others"]
_MOST_LINES = 400
_LONGEST = 400
_SIGNS = ("--", "==", "##", "**", "~~", "__")
_MARKS = ("--", "==", "##", "**", "~~", "-- ", "== ", "## ", "** ", "~~ ")
_FIRST = (
    *("Begin", "begin", "BEGIN", "End", "end", "END", "rank", "Rank", "RANK", "std", "STD", "pid"),
    *("worker", "Worker", "proc", *map(str, range(10))),
)


class SpeakersAbove:
    """Tells who prints each line of one artifact, by what stands above it."""

    WANTED = Wanted(
        needles=(
            *("==> ", " pid ", "gdb ", "py-spy ", "pystack "),
            *(f"{sign}{word}" for sign in _MARKS for word in _FIRST),
        ),
        after=0,
        sampled=True,
    )

    def __init__(self, own: Origin) -> None:
        self._own = own
        self._section = own
        self._hosts = HostsAbove()
        self._heir: Origin | None = None
        self._left = 0
        self._before = ""
        self.lead = 0
        """How long the name is that a command put before the last line."""

    def base(self, text: str, *, gap: bool) -> Origin:
        """Who prints `text` as far as the lines above it tell; called for all lines in order."""
        if gap:
            self._heir, self._before = None, ""
        above, self._before = self._before, text if text.strip() else self._before
        host, self.lead = self._hosts.see(text)
        if _STACK.match(text) is not None and (heading := _STACK_OF.match(above)) is not None:
            self._section = _over(self._own, _stack_of(heading))
        self._head(text)
        if _TRACEBACK.match(text) is not None and self._heir is None:
            self._heir = self._logger(above) if above else None
            self._left = _MOST_LINES
        elif self._heir is not None:
            self._left -= 1
            told = self._heir
            if _STILL.match(text) is None or self._left == 0:
                self._heir = None  # the line of the exception is the last one
            return told
        told = self._section if self._heir is None else self._heir
        if host is None or told.host not in {None, self._own.host}:
            return told
        return replace(told, host=host)  # before what the artifact's name tells

    def _head(self, text: str) -> None:
        """Take a heading, or the end of what stood under one."""
        if len(text) > _LONGEST or not any(sign in text for sign in _SIGNS):
            return
        named = _TAIL.match(text)
        if named is not None:
            self._section = _over(self._own, origin_of(named["path"]))
        elif _ENDS.match(text) is not None:
            self._section = self._own
        elif (heading := _NAMED.match(text)) is not None:
            self._section = _over(self._own, _named(heading))

    def _logger(self, above: str) -> Origin | None:
        """Who logged the exception whose traceback comes next; None where that is not sure."""
        messages = list(peel(above, self._section))
        if not messages or not _announces(messages[-1]):
            return None
        message = messages[-1]
        told = message.origin
        axes = ("rank", "local_rank", "task", "pid")
        own = all(getattr(told, axis) == getattr(self._section, axis) for axis in axes)
        return None if own else replace(told, repeated=0)


def _announces(message: PeeledMessage) -> bool:
    """Whether a message of a program says that an exception of its own follows."""
    header = message.header
    if header is not None and header.file.endswith((".cpp", ".cc", ".cu")):
        return False
    severe = header is not None and header.severity in ("E", "F")
    told = (
        message.text.rstrip().endswith((":", "\uff1a"))
        or severe
        or _SAYS_ERROR.search(message.text)
    )
    return bool(told) and _OTHERS.search(message.text) is None


def _named(heading: re.Match[str]) -> Origin:
    if heading["host"] is not None:
        return Origin(host=heading["host"])
    number = int(heading["number"])
    if heading["axis"].lower().startswith("local"):
        return Origin(local_rank=LocalRank(number))
    return Origin(rank=Rank(number))


def _stack_of(heading: re.Match[str]) -> Origin:
    axis = heading["axis"] or heading["of"] or ""
    number = int(heading["number"] or heading["listed"] or heading["said"])
    if axis.lower().startswith("local"):
        return Origin(local_rank=LocalRank(number))
    return Origin(rank=Rank(number))


def _over(own: Origin, told: Origin) -> Origin:
    """What a heading tells, before what the artifact's own name tells."""
    return replace(
        own,
        rank=own.rank if told.rank is None else told.rank,
        local_rank=own.local_rank if told.local_rank is None else told.local_rank,
        task=own.task if told.task is None else told.task,
        host=told.host or own.host,
        pid=told.pid or own.pid,
    )
