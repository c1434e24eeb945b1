"""From values to words inside a sentence: ranks, durations, sizes, operations.

The specifications that sentences may use, beside those of Python:

=============  ==========================  ==========================================
specification  value                       text
=============  ==========================  ==========================================
`{x:ranks}`    a rank or a set of ranks    `rank 3`, `ranks 0-3,5`, `ranks 0,8,…,504 (64 in all)`
`{x:every}`    the same                    likewise, none left out
`{x:ms}`       milliseconds                `29 min 55 s`, `1.5 s`, `20 ms`
`{x:s}`        seconds                     the same
`{x:bytes}`    bytes                       `15.9 GiB`
`{x:rate}`     bytes per second, or None   `1 GiB/s`, `an unknown speed`
`{x:ops}`      an operation or a set       `ALLREDUCE`, `ALLGATHER and ALLREDUCE`
`{x:doing}`    the value of a phase        `saving a checkpoint`
`{x:phrase}`   a phrase of the data        itself, or what the language has for it
`{x:|a|b}`     a count, or a set of ranks  `a` for one, `b` for any other number of them
=============  ==========================  ==========================================

A set of ranks without a specification is printed as bare ranges, None as "unknown".
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from unhang import lazy_re as re
from unhang.model.ids import RankSpans, format_ranks

_NUMBERED = re.compile(r"(?<=\[Errno \d\d\] )[^:]+|(?<=\[Errno \d\d\d\] )[^:]+")
_MOST_RANGES = 12
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400


class Wording(string.Formatter):
    """A formatter whose units are words of one language.

    >>> words = {"unit.min": "{n} min", "unit.s": "{n} s"}
    >>> Wording(words).format("{limit:ms}", limit=1_795_000)
    '29 min 55 s'
    """

    def __init__(
        self, words: Mapping[str, str], phrases: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._words, self._phrases = words, phrases

    def format_field(self, value: object, format_spec: str) -> str:
        """Print one value."""
        if value is None:
            return self._word("no_rate" if format_spec == "rate" else "unknown")
        match format_spec:
            case "ranks" | "every":
                return self._ranks(value, most=_MOST_RANGES if format_spec == "ranks" else None)
            case "ms":
                return self._duration(_number(value) / 1_000)
            case "s":
                return self._duration(_number(value))
            case "bytes":
                return _size(_number(value))
            case "rate":
                return f"{_size(_number(value))}/s"
            case "ops":
                return self._list(value)
            case "doing":
                return self._word(f"doing_{value}")
            case "phrase":
                return self._phrase(str(value))
            case _ if format_spec.startswith("|"):
                one, _, more = format_spec[1:].partition("|")
                count = len(value) if isinstance(value, (frozenset, set)) else value
                return one if count == 1 else more
            case "" if isinstance(value, (frozenset, set)):
                return self._bare_set(value)
            case _:
                return str(super().format_field(value, format_spec))

    def _word(self, unit: str, n: object = "") -> str:
        return self._words[f"unit.{unit}"].replace("{n}", str(n))

    def _phrase(self, text: str) -> str:
        """Text of the data, or an error of the system with its number before it."""
        if text in self._phrases:
            return self._phrases[text]
        return _NUMBERED.sub(lambda found: self._phrases.get(found[0], found[0]), text)

    def _ranks(self, value: object, most: int | None) -> str:
        ranks = _rank_set(value)
        if not ranks:
            return self._word("no_ranks")
        ranges = format_ranks(ranks).split(",")
        if most is None or len(ranges) <= most:
            return self._word("rank" if len(ranks) == 1 else "ranks", ",".join(ranges))
        few = ",".join((*ranges[:2], "…", ranges[-1]))
        return self._word("ranks", few) + self._word("in_all", len(ranks))

    def _bare_set(self, value: Iterable[object]) -> str:
        items = list(value)
        if all(isinstance(item, int) for item in items):
            return format_ranks(item for item in items if isinstance(item, int))
        return self._list(value)

    def _list(self, value: object) -> str:
        if isinstance(value, str) or not isinstance(value, Iterable):
            return str(value)
        items = sorted(str(item) for item in value)
        if len(items) < 2:
            return "".join(items)
        return self._word("and").join([self._word("comma").join(items[:-1]), items[-1]])

    def _duration(self, seconds: float) -> str:
        """The two largest units, rounded to what they can show."""
        if seconds < 0:
            return "-" + self._duration(-seconds)
        if seconds < 1:
            return self._word("ms", round(seconds * 1_000))
        if seconds < _MINUTE_S - 0.05:
            return self._word("s", f"{seconds:.1f}".removesuffix(".0"))
        if seconds < _HOUR_S - 0.5:
            return self._two(round(seconds), ("min", _MINUTE_S), ("s", 1))
        if seconds < 2 * _DAY_S:
            return self._two(round(seconds), ("h", _HOUR_S), ("min", _MINUTE_S))
        return self._two(round(seconds), ("d", _DAY_S), ("h", _HOUR_S))

    def _two(self, seconds: int, large: tuple[str, int], small: tuple[str, int]) -> str:
        whole, rest = divmod(round(seconds / small[1]) * small[1], large[1])
        parts = [self._word(large[0], whole)]
        if rest:
            parts.append(self._word(small[0], rest // small[1]))
        return " ".join(parts)


def _number(value: object) -> float:
    if isinstance(value, (int, float)):
        return value
    raise TypeError(f"a number was expected, not {value!r}")


def _rank_set(value: object) -> RankSpans:
    items = value if isinstance(value, AbstractSet | list | tuple) else (value,)
    return RankSpans.of(items if isinstance(items, RankSpans) else map(int, items))


def _size(size: float) -> str:
    """Binary units, as CUDA and the kernel use them.

    >>> _size(17_179_869_184)
    '16 GiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1_024:
            return f"{size:.1f}".removesuffix(".0") + f" {unit}"
        size /= 1_024
    return f"{size:.1f}".removesuffix(".0") + " TiB"
