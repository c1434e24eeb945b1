"""Hostile texts: real lines of failures, torn, glued, repeated and filled with anything."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import strategies as st

_CASES = Path(__file__).resolve().parents[1] / "cases"
_LONGEST = 400


@cache
def real_lines() -> tuple[str, ...]:
    """Distinct lines of all cases, shortest first: shrinking finds the simplest."""
    lines: set[str] = set()
    for path in sorted(_CASES.glob("*/input/**/*")):
        if path.is_file():
            text = path.read_bytes().decode("utf-8", errors="replace")
            lines.update(line[:_LONGEST] for line in text.splitlines())
    return tuple(sorted(lines, key=lambda line: (len(line), line)))


def _torn(line: str, start: int, end: int) -> str:
    return line[start:end]


def _with_number(line: str, number: int) -> str:
    """The first digits of the line become a number of any size."""
    digits = next((i for i, c in enumerate(line) if c.isdigit()), None)
    if digits is None:
        return line
    rest = line[digits:].lstrip("0123456789")
    return f"{line[:digits]}{number}{rest}"


def lines() -> st.SearchStrategy[str]:
    """One line: real, torn, glued to another, with another number, or arbitrary."""
    real = st.sampled_from(real_lines())
    place = st.integers(0, _LONGEST)
    return st.one_of(
        real,
        real,
        st.builds(_torn, real, place, place),
        st.builds(str.__add__, real, real),
        st.builds(_with_number, real, st.integers(-1, 10**30)),
        st.text(max_size=60),
    )


def logs() -> st.SearchStrategy[str]:
    """Some lines, joined by one of the line ends of this world."""
    ends = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])
    return st.builds(lambda end, found: end.join(found), ends, st.lists(lines(), max_size=25))


def documents() -> st.SearchStrategy[bytes]:
    """Anything that may lie in a file: logs in several encodings, or arbitrary bytes."""
    encodings = st.sampled_from(["utf-8", "utf-16", "latin-1"])
    return st.one_of(
        st.builds(lambda text, name: text.encode(name, errors="replace"), logs(), encodings),
        st.binary(max_size=400),
        st.builds(bytes.__add__, st.binary(max_size=40), logs().map(str.encode)),
    )
