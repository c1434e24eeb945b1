"""Finds secrets by the name before them: `api_key=…`, `"--hf-token", "…"`, `| password | … |`.

Names are looked for as plain texts, and what follows is looked at only there: one pattern over all
would take seconds for a few megabytes of log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.model.forms import named
from unhang.redaction import values
from unhang.redaction.names import FOREIGN, NEEDLES, PASSES, Grade, grade
from unhang.redaction.spans import Span

_KIND = "named secret"
_COLOUR = r"(?:\x1b\[[0-9;]{0,12}m)*"
_QUOTE = r"(?:\\{0,7}[\"'`]|&quot;|&#39;|%22|\\u0022)"
_BLANK = r"[^\S\n]"

_NAME_BEFORE = re.compile(r"[\w.-]{1,60}\Z")
_NAME_AFTER = re.compile(r"(?:[\w-]|\.(?=\w)){0,40}", re.ASCII)
_PATTERNS = named("unhang.redaction", "named_patterns.toml")
_TWO_WORDS = _PATTERNS["two_words"]
_SIGN = re.compile(
    rf"{_COLOUR}(?:{_QUOTE}\]?)?(?:\[\d\])?{_COLOUR}"
    rf"(?:{_BLANK}{{0,60}}{_COLOUR}"
    r"(?P<sign>=>|\\=|:=|->|={1,2}|:{1,2}(?!//)|[→：＝]|[|│┃]|\\u(?:2502|2503|2192|ff1a|ff1d|662f|4e3a)|\.{3,300}|…|%3[dDaA]|[是为])"
    rf"(?:{_BLANK}{{0,3}}(?:str|bytes|string|String|SecretStr|Optional\[\w+\]|str \| None)"
    rf"{_BLANK}{{0,3}}=(?!=))?)"
)
_FOR_WHOM = re.compile(rf"{_BLANK}(?:(?:for|of){_BLANK}[^\n=]{{1,80}}?|is|was):(?!//)(?={_BLANK})")
_IS = re.compile(
    rf"(?:{_BLANK}(?:for|of){_BLANK}[^\n=.]{{1,80}}?)?{_BLANK}(?:is|was|ist){_BLANK}"
    r"(?=[\"'`]|\S{0,100}?(?:\d|[a-z][A-Z]|\w[-_@#$%&*!+]\w))"
)
"""In a sentence; a plain word would be one more of the sentence: `the password is outdated`."""
_ELEMENT = re.compile(r"</name>\s{0,20}<value>|>(?=[^<>\n]{1,400}</)")
_PAIR = re.compile(
    rf"{_QUOTE}?\s{{0,3}},?\s{{0,40}}(?:-\s)?{_QUOTE}?(?:value|Value){_QUOTE}?\s{{0,3}}[:=]"
)
_LISTED = re.compile(
    rf"{_QUOTE}\s{{0,3}},(?=\s{{0,3}}b?{_QUOTE})|,(?=[^\s,-])|{_BLANK}{{1,8}}(?=[^\s-])"
)
_TUPLE = re.compile(rf"{_QUOTE}\s{{0,3}},(?=\s{{0,3}}b?{_QUOTE})")
_CALL = re.compile(rf"\(\s{{0,3}}(?={_QUOTE})")
_GIVES = re.compile(r"[.\w]*\bset_?[pP]\w*|[.\w]*?\b[pP]ass[a-z]*")
"""What is called with a password, not with the name of one: `setPassword`, `.password`."""
_SPACED = re.compile(rf"{_BLANK}{{1,60}}")
_OPTION = re.compile(r"(?:^|[\s\"'`,\[(=])-{1,2}(?:[\w.-]{1,80}\.)?\Z")
_SETTER = _PATTERNS["setter"]
_LOGIN_BEFORE = re.compile(r"(?i)\b(?:login|machine)\s+\S+\s*\Z")

_NEXT_LINE = re.compile(
    rf"{_BLANK}{{0,8}}(?P<block>[|>][-+]?\d?)?{_BLANK}{{0,8}}\\?\n"
    rf"(?:\[[^\]\n]{{1,60}}\]:?)?(?P<indent>{_BLANK}{{0,60}})(?=\S)"
)
_QUOTED = re.compile(
    rf"{_BLANK}{{0,80}}{_COLOUR}(?:[bBrRfFuU]{{1,2}}(?=\\{{0,7}}[\"']))?(?P<quote>{_QUOTE})"
)
_BARE_BEGIN = re.compile(rf"{_BLANK}{{0,300}}{_COLOUR}{_BLANK}{{0,3}}")
_BARE = _PATTERNS["bare"]
_MORE_WORDS = re.compile(
    rf"(?:{_BLANK}{{1,2}}[^\s=:\[\](){{}}|,-][^\s=:\[\](){{}}|,]{{0,40}}){{1,5}}{_BLANK}*$",
    re.MULTILINE,
)
_ONE_WORD = re.compile(r"[^\s:]{4,4000}[\"',]*(?=\s|$)")
_LONGEST_VALUE = 4_000
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class _Joint:
    """Where the value may begin, and how surely it belongs to the name."""

    end: int
    grade: Grade
    assigned: bool


def find_named(text: str, lower: bytes) -> Iterator[Span]:
    """Yield where the values of named secrets stand.

    Args:
        text: anything.
        lower: the same in lower case, one byte a character; what is not ASCII is `?`.
    """
    seen: set[int] = set()
    for place, after in _places(text, lower):
        end = _name_end(text, after)
        if end not in seen:
            seen.add(end)
            span = _secret(text, _name_begin(text, place), end)
            if span is not None:
                yield span


def _places(text: str, lower: bytes) -> Iterator[tuple[int, int]]:
    """Where parts of names begin and end; a part that is not ASCII is searched in any case."""
    for needle in NEEDLES:
        sought = needle.encode()
        place = lower.find(sought)
        while place >= 0:
            yield place, place + len(sought)
            place = lower.find(sought, place + len(sought))
    if not text.isascii():
        for match in FOREIGN.finditer(text):
            yield match.span()


def _name_begin(text: str, place: int) -> int:
    match = _NAME_BEFORE.search(text, max(0, place - _LONGEST_NAME), place)
    begin = place if match is None else match.start()
    if begin >= 2 and text[begin - 1] == "\\" and text[begin] in "nrt":
        return begin + 1  # the letter of an escaped line end
    return begin


def _name_end(text: str, place: int) -> int:
    match = _NAME_AFTER.match(text, place)
    assert match is not None
    return place + len(match[0].rstrip(".-"))


def _secret(text: str, begin: int, end: int) -> Span | None:
    name = text[begin:end].lstrip("-.")
    found = grade(name)
    if found is Grade.HASHED or name.lower() in {"token", "key"}:
        before = _TWO_WORDS.search(text, max(0, begin - 24), begin)
        if before is not None:
            found = Grade.SURE
        elif text[begin - 1 : begin] == "/":
            return None  # loss/token
    if found is Grade.LIKELY and _before(text, begin) in PASSES:
        return None
    if found is Grade.NONE or _is_mark(text, begin):
        return None
    joint = _joint(text, begin, end, found)
    return None if joint is None else _value(text, begin, joint)


def _before(text: str, begin: int) -> str:
    """The word before, on the same line."""
    words = text[max(0, begin - 40) : begin].rpartition("\n")[2].split()
    return words[-1].lower() if words else ""


def _is_mark(text: str, begin: int) -> bool:
    opened = text.rfind("[redacted ", max(0, begin - 40), begin + 1)
    return opened >= 0 and "]" not in text[opened:begin]


def _joint(text: str, begin: int, end: int, found: Grade) -> _Joint | None:
    """How name and value are joined: by a sign, as option, element, pair, or by blanks."""
    bare = begin + len(text[begin:end]) - len(text[begin:end].lstrip("-"))
    option = _OPTION.search(text, max(0, bare - 90), bare) is not None
    pair = _PAIR.match(text, end)
    if pair is not None:
        return _Joint(pair.end(), found, assigned=True)
    sign = _SIGN.match(text, end)
    if sign is not None:
        return _Joint(sign.end(), found, assigned=True)
    whom = _FOR_WHOM.match(text, end) if found is Grade.PASSWORD else None
    if whom is not None:
        return _Joint(whom.end(), found, assigned=True)
    told = _IS.match(text, end) if found > Grade.HASHED else None
    if told is not None:
        weak = found if found is Grade.PASSWORD else min(found, Grade.LIKELY)
        return _Joint(told.end(), weak, assigned=False)
    called = _CALL.match(text, end)
    if called is not None:
        given = _GIVES.fullmatch(text, begin, end) is not None
        return _Joint(called.end(), found if given else min(found, Grade.RANDOM), assigned=False)
    if option:
        listed = _LISTED.match(text, end)
        return (
            None if listed is None else _Joint(listed.end(), max(found, Grade.SURE), assigned=False)
        )
    element = _ELEMENT.match(text, end)
    if element is not None:
        return _Joint(element.end(), found, assigned=True)
    listed = _TUPLE.match(text, end)
    if listed is not None:
        return _Joint(listed.end(), min(found, Grade.RANDOM), assigned=False)
    spaced = _SPACED.match(text, end)
    if spaced is None or found < Grade.SURE:
        return None
    setter = _SETTER.search(text, max(0, begin - 40), begin) is not None
    login = _LOGIN_BEFORE.search(text, max(0, begin - 300), begin) is not None
    if not (setter or login):  # a sentence may go on here
        found = Grade.RANDOM if found is Grade.PASSWORD else Grade.HASHED
    return _Joint(spaced.end(), found, assigned=False)


def _value(text: str, name: int, joint: _Joint) -> Span | None:
    """The value behind a joint, if it may be a secret."""
    begin = joint.end
    following = _NEXT_LINE.match(text, begin)
    if following is not None:
        if not joint.assigned:
            return None
        return _on_next_line(text, name, following, joint.grade)
    quoted = _QUOTED.match(text, begin)
    if quoted is not None:
        return _judged(text, quoted.end(), _quote_end(text, quoted), joint.grade, quoted=True)
    blank = _BARE_BEGIN.match(text, begin)
    assert blank is not None
    bare = _BARE.match(text, blank.end())
    if bare is None:
        return None
    span = _judged(text, bare.start(), bare.end(), joint.grade, quoted=False)
    if span is None or joint.grade is not Grade.PASSWORD or not joint.assigned:
        return span
    more = _MORE_WORDS.match(text, span.end)
    return span if more is None else Span(span.begin, more.end(), span.kind)


def _on_next_line(text: str, name: int, match: re.Match[str], found: Grade) -> Span | None:
    """A value of its own line: one word, or a block that is indented further than its name."""
    line = text.rfind("\n", 0, name) + 1
    own = len(text[line:name]) - len(text[line:name].lstrip(" \t"))
    indent = len(match["indent"])
    begin = match.end()
    if match["block"] and indent > own:
        block = re.compile(rf"[^\n]*(?:\n[^\S\n]{{{indent},}}[^\n]*){{0,200}}")
        whole = block.match(text, begin)
        assert whole is not None
        return _judged(text, begin, whole.end(), found, quoted=True)
    quoted = _QUOTED.match(text, begin)
    if quoted is not None:
        return _judged(text, quoted.end(), _quote_end(text, quoted), found, quoted=True)
    word = _ONE_WORD.match(text, begin)
    if word is None or (indent <= own and not values.looks_random(word[0])):
        return None
    rest = (
        text[word.end() : text.find("\n", word.end())]
        if "\n" in text[word.end() :]
        else text[word.end() :]
    )
    return None if rest.strip() else _judged(text, begin, word.end(), found, quoted=False)


def _quote_end(text: str, quoted: re.Match[str]) -> int:
    """Where the closing quote stands, or the line ends."""
    quote, begin = quoted["quote"], quoted.end()
    line = text.find("\n", begin, begin + _LONGEST_VALUE)
    limit = min(len(text), begin + _LONGEST_VALUE) if line < 0 else line
    place = text.find(quote, begin, limit)
    while place > begin and text[place - 1] == "\\" and _escapes(text, place) % 2:
        place = text.find(quote, place + len(quote), limit)
    return limit if place < 0 else place


def _escapes(text: str, place: int) -> int:
    """Backslashes before a quote."""
    count = 0
    while place - count > 0 and text[place - count - 1] == "\\":
        count += 1
    return count


def _judged(text: str, begin: int, end: int, found: Grade, *, quoted: bool) -> Span | None:
    value = text[begin:end].strip()
    if not quoted:
        value = value.rstrip("`.,;:") + (">" if text[end : end + 1] == ">" else "")
    if len(value) < (3 if found is Grade.PASSWORD else 4) or not _may_be_secret(
        value, found, quoted
    ):
        return None
    return Span(begin, end, _KIND)


def _may_be_secret(value: str, found: Grade, quoted: bool) -> bool:
    if values.is_harmless(value) or value.startswith("[redacted "):
        return False
    if not quoted and values.is_code(value):
        return False
    if found is Grade.PASSWORD:
        return not values.is_prose(value) and not values.is_place(value)
    if found is Grade.SURE:
        plain = value.isalpha() and value == value.lower() and len(value) < 12
        return not (
            values.is_number(value) or values.is_place(value) or plain or values.is_prose(value)
        )
    if found is Grade.LIKELY:
        return values.looks_random(value) or values.is_mixed(value)
    if found is Grade.RANDOM:
        return values.looks_random(value)
    return len(value) >= 16 and values.looks_random(value) and not values.is_hex(value)
