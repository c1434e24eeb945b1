"""What the variables of a script hold, and where the number stands that they take it from.

`--batch $BATCH` with `BATCH=16` above is a setting that the script says itself, in another place:
that place is what changes. A variable that the caller may override (`${BATCH:-16}`, `BATCH=$2`)
has its default changed; one that is set twice, or that says more than this, is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from unhang import lazy_re as re
from unhang.fixing.shell_words import Command

_NAME = r"[A-Za-z_]\w*"
_USED = re.compile(
    rf"[\"']?\$(?:(?P<bare>{_NAME})|\{{(?P<braced>{_NAME})(?::?[-=](?P<default>[\w.]+))?\}})[\"']?"
)
_ASSIGNED = re.compile(rf"({_NAME})=(.*)", re.DOTALL)
_SUM = re.compile(r"[\"']?\$\(\((.*)\)\)[\"']?|\$\(expr (.*)\)", re.DOTALL)
_PRODUCT = re.compile(rf"\s*\$?\{{?({_NAME}|\d+)\}}?\s*(?:([*/])|$)")
_DECLARING = frozenset({"export", "local", "declare", "readonly", "typeset"})
_SHOWING = frozenset({"echo", "printf", "log", "[", "[[", "test"})
_DEEPEST = 50
"""Variables that take their values from each other; scripts of people have a few."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The plain text that a variable takes its value from.

    Attributes:
        start, end: where it stands in the script, without quotes.
        value: the text.
        names: the variables on the way to it, the one that was asked for first.
    """

    start: int
    end: int
    value: str
    names: tuple[str, ...]


class ShellValues:
    """The variables of one script."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self._set: dict[str, list[tuple[int, str]]] = {}
        self._used: dict[str, int] = {}
        self._origins: dict[str, Origin | None] = {}
        self._products: dict[str, int | None] = {}
        for command in commands:
            words = command.words
            plain = words[1:] if words[0].text in _DECLARING else words
            for word in plain:
                found = _ASSIGNED.fullmatch(word.text)
                if found is None:
                    break
                self._set.setdefault(found[1], []).append((word.start + found.start(2), found[2]))
            if words[0].text not in _SHOWING:
                for word in words:
                    own = word.text.partition("=")[0]  # `BATCH=${BATCH:-16}`
                    for name in set(re.findall(rf"\$\{{?({_NAME})", word.text)) - {own}:
                        self._used[name] = self._used.get(name, 0) + 1

    def origin(self, value: str) -> Origin | None:
        """Where the one plain text stands that a use of a variable means; None where none does."""
        name = _variable(value)
        return None if name is None else self._origin_of(name)

    def value(self, text: str) -> str:
        """A value with a variable in it as the script sets it; else as it stands."""
        used = _USED.fullmatch(text)
        if used is not None and used["default"] is not None and used["braced"] not in self._set:
            return used["default"]
        name = _variable(text)
        value = None if name is None else self._value_of(name)
        return text if value is None else value

    def used_once(self, names: Sequence[str]) -> bool:
        """Whether each of these is used in one place, but for what is only shown or tested."""
        return all(self._used.get(name, 0) <= 1 for name in names)

    def _origin_of(self, name: str, depth: int = 0) -> Origin | None:
        if name not in self._origins and depth < _DEEPEST:
            self._origins[name] = None  # for one that is set from itself
            plain = list(self._plain(name, depth))
            self._origins[name] = plain[0] if len(plain) == 1 else None
        return self._origins.get(name)

    def _plain(self, name: str, depth: int) -> Iterator[Origin]:
        """The plain texts that a variable is set to, here or by way of other variables."""
        for at, said in self._set.get(name, ()):
            used = _USED.fullmatch(said)
            if used is not None and used["default"] is not None:
                start, end = used.span("default")
                yield Origin(at + start, at + end, used["default"], (name,))
            elif used is not None:
                deeper = self._origin_of(used["bare"] or used["braced"], depth + 1)
                if deeper is not None:
                    yield replace(deeper, names=(name, *deeper.names))
            elif "$" not in said and "`" not in said:
                quote = said[:1] in "\"'" and said[:1] == said[-1:] and len(said) > 1
                start, end = at + quote, at + len(said) - quote
                yield Origin(start, end, said.strip("\"'"), (name,))

    def _value_of(self, name: str, depth: int = 0) -> str | None:
        """What a variable holds; None where that is not known."""
        origin = self._origin_of(name)
        if origin is not None:
            return origin.value
        if name not in self._products and depth < _DEEPEST:
            self._products[name] = None  # for one that is worked out from itself
            self._products[name] = self._product(name, depth)
        product = self._products.get(name)
        return None if product is None else str(product)

    def _product(self, name: str, depth: int) -> int | None:
        """A product or quotient of whole numbers, worked out from left to right."""
        said = self._set.get(name, ())
        match = _SUM.fullmatch(said[0][1]) if len(said) == 1 else None
        if match is None:
            return None
        rest, total, sign = (match[1] or match[2] or "").strip().strip("()"), None, "*"
        while rest:
            part = _PRODUCT.match(rest)
            if part is None:
                return None
            number = part[1] if part[1].isdecimal() else self._value_of(part[1], depth + 1)
            if number is None or not number.isdecimal() or (sign == "/" and int(number) == 0):
                return None
            last = int(number)
            total = last if total is None else (total * last if sign == "*" else total // last)
            sign, rest = part[2] or "", rest[part.end() :]
            if not sign and rest:
                return None
        return total


def _variable(text: str) -> str | None:
    """The variable that a text is a use of; None where it is anything else."""
    used = _USED.fullmatch(text)
    return None if used is None else used["bare"] or used["braced"]
