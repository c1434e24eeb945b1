"""The module `re`, but for `compile`: a pattern is compiled when it is first asked something.

The package has more than a thousand patterns, and one diagnosis asks a few hundred of them. Modules
that hold many say `from unhang import lazy_re as re`.
"""

from __future__ import annotations

import re
from re import (
    ASCII,
    DOTALL,
    IGNORECASE,
    MULTILINE,
    VERBOSE,
    Match,
    Pattern,
    escape,
    findall,
    finditer,
    fullmatch,
    match,
    search,
    split,
    sub,
)
from typing import Any, AnyStr, Generic, cast

__all__ = [
    "ASCII",
    "DOTALL",
    "IGNORECASE",
    "MULTILINE",
    "VERBOSE",
    "Match",
    "Pattern",
    "compile",
    "escape",
    "findall",
    "finditer",
    "fullmatch",
    "match",
    "search",
    "split",
    "sub",
]


class _Lazy(Generic[AnyStr]):
    """Stands for a compiled pattern; what was asked of it once is its own from then on."""

    _compiled: Pattern[AnyStr]

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._given = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a pattern has
        if name.startswith("_"):
            raise AttributeError(name)
        if "_compiled" not in vars(self):
            self._compiled = re.compile(self.pattern, self._given)
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value

    def __eq__(self, other: object) -> bool:
        """Also to the pattern itself, which a match names: `match.re == PATTERN`."""
        return isinstance(other, (_Lazy, Pattern)) and self._both == (
            other.pattern,
            other.flags,
        )

    def __hash__(self) -> int:
        return hash(self._both)

    @property
    def _both(self) -> tuple[object, ...]:
        return self.pattern, self.flags

    def __reduce__(self) -> tuple[Any, ...]:
        return compile, (self.pattern, self._given)


def compile(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:  # noqa: A001 - the name in `re`
    """The pattern, which says at its first use whether its text is sound."""
    return cast("Pattern[AnyStr]", _Lazy(pattern, flags))
