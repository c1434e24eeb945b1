"""From any prefix that names a speaker to who speaks: the grammar behind the list of `wrappers`.

Everybody invents prefixes. What they have in common: an *axis* (`rank`, `local_rank`, `gpu`,
`task`) with its number, alone or among other fields, in brackets or before a delimiter, perhaps
below a level or a host::

    [rank-3]   <rank 3>   rank3|   Rank 3 of 8 >>>   [node1/rank3]   gpu07 (rank 3):   |rank 3|
    [GPU 3]    [train][rank 3/8]   ERROR rank=3 host=gpu07:   [ERROR][gpu07][rank3]   == rank 3 ==

The number of a process (`[proc 3]`, `[进程3]`) counts like a local rank.

`[Rank -1]` is nobody: DeepSpeed prints it before there are ranks.

What stays with the message: `[Rank 3]` and `[PG 0 Rank 3]`, which torch prints for the rank within
a group, and prose (`rank 3 did not answer`), which has no delimiter behind the number.
"""

from __future__ import annotations

from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.forms import named
from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import Origin

_NUMBER = r"(?:-|[ \t]?[:=#_./])?[ \t]?0{0,4}(?P<%s>\d{1,%d})(?:[ ]?(?:/|of)[ ]?\d{1,6})?(?![\w.])"
_AXES = "|".join(
    (
        rf"(?i:global[ _-]?rank|(?<![a-z])rank){_NUMBER % ('rank', 6)}",
        rf"(?i:local[ _-]?rank|lrank){_NUMBER % ('local', 3)}",
        r"(?i:gpu|cuda|device)[ \t]?[:=#_-]?[ \t]?(?P<device>\d|1[0-5])(?![\w.])",
        rf"(?i:task){_NUMBER % ('task', 6)}",
        r"[rR]0{0,4}(?P<short>\d{1,6})(?![\w.])",
        rf"(?i:proc(?:ess)?){_NUMBER % ('process', 3)}",
        r"(?:进程|程序) ?(?P<numbered>\d{1,3})(?: ?号)?(?![\w.])",
    )
)
_LEVELS = r"TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL"
_KEY = r"(?P<key>[A-Za-z_]\w{0,40})[=:](?P<value>[\w.-]{1,80})"
_HOST = r"(?P<name>[A-Za-z][A-Za-z_.-]{0,60}\d[\w.-]{0,60})"
_WORD = r"[A-Za-z][\w.-]{0,60}"
_FIELD = re.compile(rf"(?:{_AXES}|{_KEY}|{_HOST}|{_WORD}|\d{{1,9}})[\s,;|/]{{0,3}}")
_PAIRS = {
    **{"[": "]", "(": ")", "{": "}", "<": ">", "«": "»"},
    **{sign: sign for sign in ("|", "~", "*", "==", "===", "--", "---")},
}
_PATTERNS = named("unhang.sources", "data/voices.toml")
_BRACKETED = _PATTERNS["bracketed"]
_NESTED = re.compile(r"\[(?P<fields>[^\[\]()\n]{2,60}\|[^\[\]()\n]{2,60})\]:?[ ]?")
_OF_TORCH = re.compile(r"PG\b|Rank \d{1,6}$")
_PLAIN = re.compile(
    rf"(?:(?P<host>[A-Za-z][\w.-]{{0,60}}\d)[ |,:]{{1,2}}[(\[]?)?(?:{_AXES})[)\]]?"
    r"(?P<more>(?:\[[\w.:-]{1,60}\]){2,3}|[ ]?[(\[][\w.:-]{1,60}[)\]]"
    r"|(?:,?[ ][A-Za-z_]{2,20}(?:[ =:][\w.-]{1,60})?){0,2}?)"
    rf"(?:[ ]?(?::|\||>{{1,3}}|»)(?!//)[ ]?|[ ]-[ ]|[ ](?=(?:{_LEVELS})\b))"
)
_LEAD = re.compile(
    rf"\[?(?P<level>{_LEVELS})\]?[ |:-]{{0,3}}|\[(?P<word>[\w .:/-]{{1,40}})\][ ]?"
    r"|(?:host(?:name)?|node|pod)=(?P<host>[\w.-]{1,120})[ ,|]{1,2}"
    r"|(?!\w*(?:Error|Exception|Warning|Failure|Failed)\b)[A-Za-z][\w.]{0,60}: "
    r"(?=[\[(<](?i:global[ _-]?|local[ _-]?)?(?i:rank|proc))"
)
_MOST_LEADS = 3
_AFTER = re.compile(
    rf"[ ]?(?:\[(?P<boxed>{_LEVELS}|[EWIDF])\]|(?P<level>{_LEVELS})(?=[ |:-]))[ ]{{0,4}}[|:-]?[ ]?"
    r"(?:(?P<file>[\w./-]{1,120}\.(?:py|cpp|cc|cu)):(?P<line>\d{1,6})[:|\]]?[ ])?"
    # the spans and the module of Rust's `tracing`; behind other levels a sample may stand
    r"(?:(?:(?<=ERROR )|(?<=WARN ))(?:[a-z]\w*[_:-][\w:.-]{1,60}(?:\{[^{}\n]{0,200}\})?: ){1,4})?"
)
_REACH = 96
_HOSTS = frozenset({"host", "hostname", "node", "nodename", "ip", "pod"})
_SIGN = _PATTERNS["sign"]
"""What every such prefix has: most lines are seen to have none at once."""


def read_voice(text: str, position: int, known: Origin) -> tuple[Origin, int] | None:
    """Who speaks according to the prefix at `position`, and where the prefix ends.

    >>> read_voice("[train][rank 3/8] step 7", 0, Origin())[0].rank
    3
    >>> read_voice("rank 3 did not answer: gave up", 0, Origin()) is None
    True
    """
    if _SIGN.search(text, position, position + _REACH) is None:
        return None
    origin, begin = known, position
    for _ in range(_MOST_LEADS + 1):
        told = _bracketed(text, begin, origin) or _plain(text, begin, origin)
        if told is not None:
            return told if text[told[1] :].strip() else None
        lead = _LEAD.match(text, begin)
        if lead is None or lead.end() == begin:
            return None
        named = re.fullmatch(_HOST, lead["word"] or "")
        host = lead["host"] if named is None else named["name"]
        origin = origin if host is None else replace(origin, host=host)
        begin = lead.end()
    return None


def read_level(text: str, position: int) -> re.Match[str] | None:
    """The level, and the place in the source, that stand behind a speaker or a time."""
    return _AFTER.match(text, position)


def level_of(match: re.Match[str]) -> tuple[str, str, int]:
    """Severity, file and line of `read_level`'s match."""
    level = match["boxed"] or match["level"]
    severity = "F" if level == "CRITICAL" else level[0]
    return severity, match["file"] or "", int(match["line"] or 0)


def _bracketed(text: str, position: int, known: Origin) -> tuple[Origin, int] | None:
    match = _NESTED.match(text, position) or _BRACKETED.match(text, position)
    if match is None:
        return None
    opened = match.groupdict().get("open")
    if opened in {None, "["} and _OF_TORCH.match(match["fields"]):
        return None
    if opened is not None and _PAIRS[opened] != match["close"]:
        return None
    origin = _fields(match["fields"], known)
    return None if origin is None else (origin, match.end())


def _fields(text: str, known: Origin) -> Origin | None:
    """What the fields in brackets say; None where they are no fields, or none is an axis."""
    origin, spoken, position = known, False, 0
    while position < len(text):
        field = _FIELD.match(text, position)
        if field is None or field.end() == position:
            return None
        told = _axis(field, origin)
        spoken = spoken or told is not None
        origin = told or _other(field, origin)
        position = field.end()
    return origin if spoken else None


def _axis(match: re.Match[str], origin: Origin) -> Origin | None:
    rank = match["rank"] or match["short"]
    if rank is not None:
        return replace(origin, rank=Rank(int(rank)))
    local = match["local"] or match["device"] or match["process"] or match["numbered"]
    if local is not None:
        return replace(origin, local_rank=LocalRank(int(local)))
    if match["task"] is not None:
        return replace(origin, task=int(match["task"]))
    return None


def _other(match: re.Match[str], origin: Origin) -> Origin:
    """A host, by its key or because a name with a number stands there."""
    if match["name"] is not None:
        return replace(origin, host=match["name"])
    if match["key"] is not None and match["key"].lower() in _HOSTS:
        return replace(origin, host=match["value"])
    if match["key"] == "pid" and match["value"].isdigit() and len(match["value"]) < 10:
        return replace(origin, pid=int(match["value"]))
    return origin


def _plain(text: str, position: int, known: Origin) -> tuple[Origin, int] | None:
    """An axis before a delimiter, without brackets."""
    match = _PLAIN.match(text, position)
    if match is None or _is_prose(match):
        return None
    told = _axis(match, known)
    if told is None:
        return None
    return (told if match["host"] is None else replace(told, host=match["host"])), match.end()


_SAYS = _PATTERNS["says"]


def _is_prose(match: re.Match[str]) -> bool:
    """Words behind the number that are no fields make it a sentence about a rank.

    A bare `r3:` or `gpu3:` is a name of many things; those need brackets or a bar.
    """
    more = match["more"].strip()
    if more and more[0] not in "([" and _SAYS.match(more.lstrip(",")) is None:
        return True
    weak = any(match[name] is not None for name in ("short", "device", "process"))
    return weak and match[0].rstrip()[-1:] not in {"|", ">"}
