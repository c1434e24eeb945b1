"""From a printed text and its place to the phase that it shows, by the rules of `rules.toml`.

`Saving {} to {}` begins and `Saved {} to {}`, `Saving took {} s` or `checkpoint written` end what
the verb and the thing name. Where the text names no thing, the function that prints it may.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mine.texts import Text
from unhang.model import toml

Shown = tuple[str, str]
"""A phase and its edge."""

_RULES = toml.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))
_LEAD = re.compile(
    r"(?:[^\w{]+|\{\}|\[[^\]]{0,40}\]|\([^)]{0,30}\)|<[^>]{0,30}>|(?:rank|node|step|epoch|iteration)"
    r"[ :#=]*\{\}|[\w.{}-]{1,40}: |(?:now|then|first|also|just|finally),? )*"
)
_START = (
    r"(?:(?:start(?:ed|ing)?|begin(?:ning)?|run(?:ning)?|perform(?:ing)?|do(?:ing)?"
    r"|about|attempting|trying|going)(?: to)? )"
)
_END = r"(?:(?:successfully|done|finish(?:ed)?|completed?|ended|end of)(?: with)? )"
_OVER = (
    r"\b(?:done|finished|complete[d]?|took|success\w*|succeeded|ended|elapsed|takes)\b"
    r"|\bin \{\} ?(?:s|secs?|seconds|ms|min\w*)\b|\btime(?: cost| taken)?[:=] ?\{\}"
)
_OVER_FIRST = r"(?:time|seconds|elapsed|duration)\b(?: \w+)?(?: to| for| of| spent)?:? "
_COUNT = re.compile(r"\{\} ?/ ?(?:\{\}|\?)")
"""Of so many: it may be one of many lines, which neither begins nor ends anything."""
_OF = 8
"""Words among which the thing is named."""
_LONGEST = 160


class _Rule(NamedTuple):
    """The patterns of one phase."""

    verb: str
    things: re.Pattern[str]
    where: re.Pattern[str]
    nouns: str


def shown_by(text: Text) -> Shown | None:
    """The phase and edge that a text shows at its place, or None; warnings show none."""
    never, nowhere = _rejects()
    if text.kind == "trouble" or len(text.text) > _LONGEST or nowhere.search(text.file):
        return None
    lead = _LEAD.match(text.text.lower())
    said = text.text.lower()[0 if lead is None else lead.end() :]
    if never.search(said) or _COUNT.search(said):
        return None
    for phase, rule in _rules():
        edge = _by_nouns(rule, said) or _by_verb(rule, said, text.function)
        if edge is not None:
            return phase, "bar" if text.kind == "bar" else edge
    return None


def _by_nouns(rule: _Rule, said: str) -> str | None:
    noun = rf"(?:\S+ ){{0,3}}?(?:{rule.nouns})\b"
    if re.match(rf"(?:{_END}|{_OVER_FIRST}){noun}", said):
        return "end"
    if re.match(noun, said) and re.search(_OVER, said[:70]):
        return "end"
    return "begin" if re.match(_START + noun, said) else None


def _by_verb(rule: _Rule, said: str, function: str) -> str | None:
    words = " ".join(said.split()[:_OF])
    if not rule.things.search(words) and not rule.where.search(function):
        return None
    gerund = rf"(?:{rule.verb})(?:[a-z]?ing|(?<=ing up)|(?<=ing down))"
    past = rf"(?:{rule.verb})(?:[a-z]?ed|(?<=built)|(?<=wrote)|(?<=written))"
    if re.match(rf"{_END}?{past}\b", said) or re.match(
        rf"(?:{_END}|{_OVER_FIRST}){gerund}\b", said
    ):
        return "end"
    if re.match(rf"{_START}?(?:\w+ly )?{gerund}\b", said) or re.match(
        rf"{_START}(?:{rule.verb})e?\b", said
    ):
        return "end" if re.search(_OVER, said) else "begin"
    subject = re.match(
        rf"(?:\S+ ){{1,6}}?(?:(?:is|was|were|are|has been|have been|successfully) )*{past}\b"
        r"(?=$|\W*$| (?:from|to|in|at|on|into|with|successfully|for|by|and)\b|[:!;,.(]| \()",
        said,
    )
    if subject is not None and rule.things.search(subject[0]):
        return "end"
    over = re.match(rf"(?:{rule.verb})e? .*?(?:{_OVER})", said)
    return "end" if over is not None else None


@cache
def _rejects() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(_RULES["never"]), re.compile(_RULES["nowhere"], re.IGNORECASE)


@cache
def _rules() -> tuple[tuple[str, _Rule], ...]:
    return tuple(
        (
            row["phase"],
            _Rule(row["verbs"], re.compile(row["things"]), re.compile(row["where"]), row["nouns"]),
        )
        for row in _RULES["phases"]
    )
