"""From the lines around the trouble of a log to whether somebody introduces it there.

A job that trains on texts, tests its parsers or greets with known problems shows failures of
others on lines of their own. Where much work follows, that tells; at the end of a running log only
the lines around it do. Two of them are of a form:

- a line that tells of no trouble and counts nothing *leads to* it. Programs print such lines before
  they fail as well, so that this alone says nothing;
- what stands in front of it and behind it *encloses* the text: one voice, labels of one form, or
  people who speak on both sides::

      preflight: one line from before the last boot    [prompt] what does this mean?
      Fatal Python error: Segmentation fault           Fatal Python error: Segmentation fault
      preflight: passed                                [score] 0.31

Traps: ranks share a log, and one counts on while another fails, so the two lines must differ in
more than numbers; helpers of a process (`wandb: `) sum up when it has failed, so the voice must be
a new one, and all that follows must tell of no trouble either; a message may have several
sentences, so that one behind the failure says nothing where none stands in front of it. It is asked
only where a verdict would hold something against the job.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import dropwhile, islice, takewhile

from unhang import lazy_re as re
from unhang.engine.rereading import lines_of, text_of
from unhang.model.events.lifecycle import STATES_OF_WORK
from unhang.model.incident import Introduced
from unhang.sources.artifact import Artifact
from unhang.sources.context import is_work
from unhang.sources.peel import peel
from unhang.sources.showing import TELLS, begins, is_calm

_LONGEST = 400
_MOST_AROUND = 200
"""Lines above and below that are looked at."""
_MOST_TOLD = 2_000
"""Lines from the first trouble to the last."""
_MOST_BELOW = 40
"""Lines of other voices below what is shown; more are a log of their own."""
_NEAR = 3
"""Lines on each side of which one is a sentence where people speak."""
_VOICE = re.compile(r"[A-Za-z][\w-]{2,24}(?: [a-z][\w-]{1,24}){0,2}: (?=\S)")
_LABEL = re.compile(
    r"(?=\W|\S+ ?[|>])(?P<before>[\[(<{|]{0,2})(?P<name>[A-Za-z][\w-]{0,24})"
    r"(?P<after>[\])>}|]{1,3}| [|>-]{1,3}(?= ))\s?"
)
"""A word between marks, or in front of one; `name: ` stands in front of any message."""
_POINT = re.compile(
    r"\s*(?:[-*•>]|[\[(]?\w{1,3}[.)\]:]|[\[(<]\w{1,24}[\])>]|\w{1,6}-\d{1,9}"
    r"|[A-Za-z][\w -]{0,30}?\s?[:=>|-]{1,3})\s+"
)
"""What stands before a sentence: the mark of a point, the number of a text, who says it."""
_WORDS = re.compile(
    r"[\"'“]?(?:[^\W\d_][^\W\d_'’-]*(?:['’-][^\W\d_]+)?[,;:.]? ){3,60}[^\W\d_]+[.:?!…”\"']{0,2}$"
)
"""Words and nothing else: programs print figures, names and paths."""
_FENCE = re.compile(r"\s*(?P<sign>`{3}|~{3}(?![~^])|<{3}|>{3}|\{{3}|\}{3}|[\"']{3}) ?\w{0,20}\s*$")
_OPENS = re.compile(r"""(?:^|[\s,;:=(\[])(?P<sign>["'`“«„「])(?=[^\s"'`,;.)])""")
_CLOSING = str.maketrans("“«„「", "”»“」")
_MIRRORED = str.maketrans("<{", ">}")
_INDENTED = re.compile(
    r" {2,}(?!(?!\[(?:rank|[EWIF]\d))(?:what\(\):|\w+ +: |[\w ]+: {2,}|\W|\d{1,3}%))"
)
"""But for what runtimes indent themselves: rows of a table, bars, what C++ has caught."""
_DIGITS = re.compile(r"\d+")
_TRACE = re.compile(r"(?P<rank>\[rank\d{1,6}\]: ?)?Traceback \(most recent call last\):")
_STRING = re.compile(r"(?:[=(,\[:]|^)\s*[brf]?[\"']$")
_MARKS = re.compile(r"(?:E )?[^A-Za-z]{1,24}")
_CELL = re.compile(r"\s{0,8}\d{0,9}\s*[|│]\s.{0,4000} [|│] ?[^|│]{0,80}$")
"""A row of a table."""
_RANK = re.compile(r"\[rank\d{1,6}\]: ?")
"""What torch puts before each line of an exception: what introduces it has none."""


def introduced(artifact: Artifact, first: int, last: int) -> Introduced | None:
    """Who introduces the trouble of an artifact. Never raises on any bytes.

    Args:
        artifact: that can be opened again.
        first: the line of the first trouble that it tells of.
        last: that of the last one.
    """
    before: deque[bytes] = deque(maxlen=_MOST_AROUND)
    try:
        with artifact.open() as stream:
            lines = lines_of(stream, _LONGEST)
            before.extend(islice(lines, first - 1))
            told = _texts(islice(lines, min(last - first + 1, _MOST_TOLD)))
            deque(islice(lines, max(0, last - first + 1 - _MOST_TOLD)), maxlen=0)
            behind = _texts(islice(lines, _MOST_AROUND))
    except Exception:  # what could not be read was told of when it was read first
        return None
    earlier = _texts(before)
    if told and _has_front(earlier, told, behind):
        return Introduced.ENCLOSED
    if told and _RANK.search(told[0]) is not None:
        earlier, told, behind = (
            [_RANK.sub("", line, count=1) for line in lines] for lines in (earlier, told, behind)
        )
    later = [line for line in behind if line.strip()]
    above = _nearest(reversed(earlier))
    if not told:
        return None
    head = _head(above[0]) if above else None
    if head is not None and told[0].startswith(head[0]):
        return None  # who prints the trouble itself: a label that a collector puts before its lines
    works = len({line for line in (*earlier, *later) if is_work(line)}) >= STATES_OF_WORK
    if works and _encloses(earlier, told, later):
        return Introduced.ENCLOSED
    if not above:
        return None
    begun = begins(above[0])
    breaks_off = above[0].rstrip().endswith((":", "：")) or (begun is not None and not begun.prose)
    return Introduced.SAID if breaks_off else Introduced.LED_TO


def _has_front(earlier: Sequence[str], told: Sequence[str], later: Sequence[str]) -> bool:
    """Whether something stands in front of what a rank prints, on each line of it and no other.

    A bar that was not ended stands in front of one line; marks and names of searches, tests and
    samples stand in front of all. A string shows the ends of its lines.
    """
    block = [*earlier[-_MOST_BELOW:], *told]
    begin = next((n for n, line in enumerate(block) if _TRACE.search(line) is not None), None)
    if begin is None:
        return _CELL.match(told[0]) is not None
    found = _TRACE.search(block[begin])
    front = "" if found is None else block[begin][: found.start()]
    if not front.strip():
        return False
    ranked = found is not None and found["rank"] is not None
    if (ranked or "\\n" in block[begin]) and _STRING.search(front) is not None:
        return True
    if not (ranked or _MARKS.fullmatch(front)) or next(peel(block[begin])).text != front.strip():
        return False
    one = _DIGITS.sub("0", front)
    fronts = [_DIGITS.sub("0", line)[: len(one)].rstrip() == one.rstrip() for line in block[begin:]]
    others = (*earlier[: len(earlier) + len(told) - len(block[begin:])], *later)
    alone = not any(_DIGITS.sub("0", line).startswith(one) for line in others)
    return len(fronts) > 1 and all(fronts) and alone


def is_shown_in(lines: Sequence[str]) -> bool:
    """Whether all trouble of a text stands in something that encloses it, and nothing is at work.

    >>> is_shown_in(["Mei, can you look?", "srun: error: n1: task 3: Killed", "It was the memory."])
    True
    """
    told = [n for n, line in enumerate(lines) if _is_of_trouble(line) and TELLS.search(line)]
    if not told or any(map(is_work, lines)):
        return False
    first, last = told[0], told[-1] + 1
    return _encloses(lines[:first], lines[first:last], lines[last:])


def _encloses(earlier: Sequence[str], told: Sequence[str], later: Sequence[str]) -> bool:
    """Whether what stands in front of some lines belongs together with what stands behind them."""
    above, below = _nearest(reversed(earlier)), _nearest(later)
    return (
        (any(map(_leads, above)) and any(map(is_said, below)))
        or _is_indented([*earlier, *later], told)
        or _is_quoted([*earlier[-_MOST_BELOW:], *told], later)
        or _are_fences(earlier, later)
        or (len(above) > 0 and _is_labelled(earlier, above[0], later))
    )


def _nearest(lines: Iterable[str]) -> list[str]:
    """The next few lines that tell of no trouble, up to one by which the log itself speaks."""
    calm = islice((line for line in lines if not _is_of_trouble(line)), _NEAR)
    return list(takewhile(_is_plain, calm))


def is_said(line: str) -> bool:
    """Whether a line is a sentence, or a part of a text that somebody shows.

    >>> is_said("can somebody have a look"), is_said("Loaded 4 shards from /data in 3.1 s")
    (True, False)
    """
    bare = _behind_its_point(line)
    begun = [text for text in (begins(line), begins(bare)) if text is not None]
    return _WORDS.match(bare) is not None or any(t.prose or not t.led for t in begun)


def _leads(line: str) -> bool:
    """Whether a line leads to what follows."""
    return line.rstrip().endswith((":", "：")) or is_said(line) or begins(line) is not None


def _behind_its_point(line: str) -> str:
    point = _POINT.match(line)
    return (line if point is None else line[point.end() :]).strip()


def _is_quoted(lines: Sequence[str], later: Sequence[str]) -> bool:
    """Whether a quotation that a line opens ends with the last line, or with the next one."""
    opened = ""
    for line in lines:
        if opened and _closes(opened, line):
            closed, opened = opened, ""
        else:
            closed = ""
            signs = [m["sign"] for m in _OPENS.finditer(line)]
            begun = [s for s in signs if s.translate(_CLOSING) != s or line.count(s) % 2 == 1]
            if begun and not opened and not _closes(begun[-1], line[line.rindex(begun[-1]) + 1 :]):
                opened = begun[-1]
    rest = len(list(takewhile(_is_of_trouble, later))) + 1
    return bool(closed) or (bool(opened) and any(_closes(opened, line) for line in later[:rest]))


def _closes(opened: str, text: str) -> bool:
    """Whether a quotation is closed in a text, not counting what it quotes itself."""
    sign = opened.translate(_CLOSING)
    return re.search(rf"{re.escape(sign)}(?:[,;)\]}}]|\s*$)", text) is not None and (
        sign != opened or text.count(sign) % 2 == 1
    )


def _is_indented(others: Sequence[str], told: Sequence[str]) -> bool:
    """Whether all that tells of trouble is indented, in a log whose own lines are not."""
    tells = [line for line in told if TELLS.search(line) is not None]
    works = [line for line in others if is_work(line)]
    return (
        len(tells) > 0
        and all(_INDENTED.match(line) is not None for line in tells)
        and any(not line.startswith("  ") for line in works)
    )


def _are_fences(above: Sequence[str], below: Sequence[str]) -> bool:
    """Whether the next lines of marks on both sides are of one sign, which frames no report."""
    one, other = (
        next((m["sign"] for line in lines if (m := _FENCE.match(line)) is not None), None)
        for lines in (list(reversed(above))[:_MOST_BELOW], below[:_NEAR])
    )
    return one is not None and other in (one, one.translate(_MIRRORED))


def _is_labelled(earlier: Sequence[str], above: str, later: Sequence[str]) -> bool:
    """Whether labels of one form stand in front of the lines on both sides, and nowhere else.

    What a voice says again must be something else, and nobody may tell of trouble behind it.
    """
    below = next(dropwhile(_is_of_trouble, later), "")
    one, other = _head(above), _head(below)
    if one is None or other is None or _how_many(earlier, one[0]) != 1:
        return False
    if one[0] == other[0]:
        rest = list(islice(dropwhile(_is_of_trouble, later), _MOST_BELOW + 1))
        differ = _DIGITS.sub("0", below) != _DIGITS.sub("0", above)
        return differ and len(rest) <= _MOST_BELOW and all(map(_is_plain, rest))
    alike = (
        one.re == other.re == _LABEL
        and one["before"] + one["after"] == other["before"] + other["after"]
    )
    names = {_DIGITS.sub("", label["name"]) for label in (one, other)} if alike else ()
    return len(names) > 1 and _how_many(earlier, other[0]) == 0


def _head(line: str) -> re.Match[str] | None:
    return _VOICE.match(line) or _LABEL.match(line)


def _how_many(lines: Sequence[str], head: str) -> int:
    """How many lines begin like that."""
    return sum(line.startswith(head) for line in lines)


def _texts(lines: Iterable[bytes]) -> list[str]:
    return [text_of(line, _LONGEST) for line in lines]


def _is_of_trouble(line: str) -> bool:
    """Whether a line is one of those that tell of trouble, or part of their message."""
    if not line.strip() or line[:1].isspace() or "(most recent call " in line:
        return True
    if _WORDS.match(_behind_its_point(line)) is not None:  # it may name the memory, or a rank
        return TELLS.search(line) is not None
    voice = _VOICE.match(line) is not None  # a program's name may stand in front of its failure
    return TELLS.search(line) is not None if voice else not is_calm(line)


def _is_plain(line: str) -> bool:
    """Whether it is a message that counts nothing, in no logger's form, and tells of no trouble."""
    message = next(peel(line), None)
    told = message is None or message.header is not None or message.at is not None
    return not (told or is_work(line) or _is_of_trouble(line))
