"""Made-up secrets in the forms in which real ones stand (`tests/data/redaction`)."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_DATA = Path(__file__).parents[1] / "data" / "redaction"
_PART = re.compile(r"«(?P<kind>[A-Z])(?P<count>\d+)»")
_SIGNS = "&;@/!#%+=?^~*"
_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "H": "0123456789abcdef",
    "U": string.ascii_uppercase + string.digits,
    "X": string.ascii_uppercase + "234567",
    "D": string.digits,
    "W": string.ascii_letters + string.digits + "-_",
    "B": string.ascii_letters + string.digits + "+/",
    "L": string.ascii_lowercase + string.digits,
}


@dataclass(frozen=True, slots=True)
class Form:
    """A text with secrets in it.

    Attributes:
        name: what the form is.
        text: with made-up secrets.
        secrets: the parts that must not stay.
    """

    name: str
    text: str
    secrets: tuple[str, ...]

    def left_in(self, text: str) -> list[str]:
        """Secrets of which more than a stump is in `text`.

        A bundle has times and sizes of its own, and one of them may happen to hold a short number.
        So a short number counts only behind the sign that stands before it in the form.
        """
        return [part for part in self.secrets if self._stays(part, text)]

    def _stays(self, part: str, text: str) -> bool:
        if part.isdigit() and len(part) < 8:
            before = self.text[self.text.index(part) - 1]
            return re.search(rf"{re.escape(before + part)}(?!\d)", text) is not None
        half = len(part) // 2
        pieces = (part,) if len(part) < 12 else (part[:half], part[half:])
        return any(piece in text for piece in pieces)


def forms() -> Iterator[Form]:
    """Every form, with the same secrets each time."""
    listed = (_DATA / "forms.txt").read_text(encoding="utf-8")
    for block in re.split(r"^@@ ?", listed, flags=re.MULTILINE)[1:]:
        name, _, text = block.partition("\n")
        yield fill(name, text)


def variables() -> tuple[str, ...]:
    """Names of variables that hold secrets."""
    return tuple(_lines("variables.txt"))


def harmless() -> tuple[str, ...]:
    """Lines of training jobs that hold none."""
    return tuple(_lines("harmless.txt"))


def fill(name: str, text: str) -> Form:
    """Replace the places of a form by made-up secrets."""
    source = random.Random(name)
    secrets: list[str] = []

    def part(match: re.Match[str]) -> str:
        made = _made(match["kind"], int(match["count"]), source)
        if len(made) >= 4:
            secrets.append(made)
        return made

    return Form(name, _PART.sub(part, text).replace("␛", "\x1b"), tuple(secrets))


def _made(kind: str, count: int, source: random.Random) -> str:
    if kind == "P":
        body = [source.choice(_ALPHABETS["A"]) for _ in range(count)]
        for place in range(2, count - 1, 4):
            body[place] = source.choice(_SIGNS)
        return "".join(body)
    made = "".join(source.choice(_ALPHABETS[kind]) for _ in range(count))
    if kind in "DX" or count < 4:
        return made
    return "3" + made[1:-1] + ("d" if kind in "HL" else "D")  # a digit and a letter, as in life


def _lines(name: str) -> list[str]:
    lines = (_DATA / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]
