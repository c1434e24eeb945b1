"""What the variables of a script hold, and where the number stands that they take it from.

`--batch $BATCH` with `BATCH=16` above is a setting that the script says itself, in another place:
that place is what changes. A variable that the caller may override (`${BATCH:-16}`, `BATCH=$2`)
has its default changed; one that is set twice, or that says more than this, is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.fixing.shell_words import Command

_NAME = r"[A-Za-z_]\w*"
_USED = re.compile(rf"[\"']?\$(?:({_NAME})|\{{({_NAME})(?::?[-=]([\w.]+))?\}})[\"']?")
_ASSIGNED = re.compile(rf"({_NAME})=(.*)", re.DOTALL)
_DEFAULT = re.compile(rf"[\"']?\$\{{{_NAME}:?[-=]([\w.]+)\}}[\"']?")
_SUM = re.compile(r"[\"']?\$\(\((.*)\)\)[\"']?|\$\(expr (.*)\)", re.DOTALL)
_PRODUCT = re.compile(rf"\s*\$?\{{?({_NAME}|\d+)\}}?\s*(?:([*/])|$)")
_DECLARING = frozenset({"export", "local", "declare", "readonly", "typeset"})
_SHOWING = frozenset({"echo", "printf", "log", "[", "[[", "test"})
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Origin:
    """The plain text that a variable takes its value from."""

    start: int
    end: int
    value: str
    names: tuple[str, ...]


class ShellValues:
    """The variables of one script."""

    def __init__(self, text: str, commands: Sequence[Command]) -> None:
        self._text = text
        self._set: dict[str, list[tuple[int, str]]] = {}
        self._used: dict[str, int] = {}
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

    def origin(self, value: str, _depth: int = 0) -> Origin | None:
        """Where the one plain text stands that a use of a variable means; None where none does."""
        used = _USED.fullmatch(value)
        if used is None or _depth > _DEEPEST:
            return None
        name = used[1] or used[2]
        plain: list[Origin] = []
        for at, said in self._set.get(name, ()):
            found = _DEFAULT.fullmatch(said)
            if found is not None:
                plain.append(Origin(at + found.start(1), at + found.end(1), found[1], (name,)))
            elif "$" not in said and "`" not in said:
                quote = said[:1] in "\"'" and said[:1] == said[-1:] and len(said) > 1
                start, end = at + quote, at + len(said) - quote
                plain.append(Origin(start, end, said.strip("\"'"), (name,)))
            elif (deeper := self.origin(said, _depth + 1)) is not None:
                plain.append(Origin(deeper.start, deeper.end, deeper.value, (name, *deeper.names)))
        return plain[0] if len(plain) == 1 else None

    def value(self, text: str) -> str:
        """A value with a variable in it as the script sets it; else as it stands."""
        own = _DEFAULT.fullmatch(text)
        if own is not None and (used := _USED.fullmatch(text)) and used[2] not in self._set:
            return own[1]
        origin = self.origin(text)
        if origin is not None:
            return origin.value
        number = self._computed(text)
        return text if number is None else str(number)

    def depends(self, text: str, names: Sequence[str]) -> bool:
        """Whether a value is worked out from one of these variables."""
        used = _USED.fullmatch(text)
        said = self._set.get((used[1] or used[2]) if used else "", ())
        return any(re.search(rf"\b{name}\b", part) for name in names for _, part in said)

    def used_once(self, names: Sequence[str]) -> bool:
        """Whether each of these is used in one place, but for what is only shown or tested."""
        return all(self._used.get(name, 0) <= 1 for name in names)

    def _computed(self, text: str, _depth: int = 0) -> int | None:
        """A product or quotient of whole numbers, worked out from left to right."""
        used = _USED.fullmatch(text)
        if used is None or _depth > _DEEPEST:
            return None
        said = self._set.get(used[1] or used[2], ())
        match = _SUM.fullmatch(said[0][1]) if len(said) == 1 else None
        if match is None:
            return None
        rest, total, sign = (match[1] or match[2] or "").strip().strip("()"), None, "*"
        while rest:
            part = _PRODUCT.match(rest)
            if part is None:
                return None
            number = part[1] if part[1].isdigit() else self.value(f"${part[1]}")
            if not number.isdigit() or (sign == "/" and int(number) == 0):
                return None
            last = int(number)
            total = last if total is None else (total * last if sign == "*" else total // last)
            sign, rest = part[2] or "", rest[part.end() :]
            if not sign and rest:
                return None
        return total
