"""From what people write to numbers: `80GB`, `2.5 GB/s`, `7B`, `30 min`."""

from __future__ import annotations

from unhang import lazy_re as re
from unhang.errors import UsageError

_NUMBER = re.compile(r"\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([a-zA-Z/]*)\s*")
_POWERS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "pi": 2**50}
_SECONDS = {"": 1, "s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
_MOST = 10**21


def size(text: str, field: str) -> int:
    """Bytes of `80GB`, `80GiB`, `1.5T` or a bare number.

    >>> size("80GiB", "--gpu-memory")
    85899345920
    """
    number, unit = _split(text, field, "a size such as 80GB or 80GiB")
    if unit[:1].isupper() and unit.endswith("b"):
        raise UsageError(f"{field}: {text!r} is in bits; expected bytes, a size such as 80GB")
    low = unit.lower().removesuffix("b") if unit.lower() != "b" else ""
    factor = _POWERS.get(low) or _BINARY.get(low)
    return _whole(number, factor, text, field, "a size such as 80GB or 80GiB")


def speed(text: str, field: str) -> int:
    """Bytes per second of `2 GB/s` or `900MB`.

    Bits (`Gb/s`, `Gbit/s`) are refused: nobody can tell whether they were meant.
    """
    expected = "a speed such as 2GB/s"
    number, unit = _split(text, field, expected)
    unit = unit.removesuffix("/s").removesuffix("ps")
    if unit.endswith("b") or unit.lower().endswith("bit"):
        raise UsageError(f"{field}: {text!r} is in bits; expected bytes, {expected}")
    factor = _POWERS.get(unit.lower().removesuffix("b"))
    factor = factor or _BINARY.get(unit.lower().removesuffix("b"))
    return _whole(number, factor, text, field, expected)


def count(text: str, field: str) -> int:
    """A number of parameters or samples: `7B`, `350M`, `1_000_000`.

    >>> count("7.6B", "MODEL")
    7600000000
    """
    expected = "a number such as 7B or 350M"
    number, unit = _split(text, field, expected)
    low = unit.lower()
    factor = {"b": 10**9}.get(low) or _POWERS.get(low)
    return _whole(number, factor, text, field, expected)


def tokens(text: str, field: str) -> int:
    """Tokens of a sequence: `4096`, or `8k`, by which people mean 8192.

    >>> tokens("128k", "--seq")
    131072
    """
    expected = "a number of tokens such as 4096 or 8k (8192)"
    number, unit = _split(text, field, expected)
    factor = {"": 1, "k": 2**10, "ki": 2**10, "m": 2**20, "mi": 2**20}.get(unit.lower())
    found = _whole(number, factor, text, field, expected)
    if number != int(number):
        raise UsageError(f"{field}: found {text[:60]!r}, expected {expected}")
    return found


def seconds(text: str, field: str) -> float:
    """Seconds of `90`, `90s`, `30min`, `2h`, `1h30m`.

    >>> seconds("1h30m", "--eval")
    5400.0
    """
    expected = "a duration such as 90s, 30min or 2h"
    parts = re.fullmatch(r"\s*([0-9]+)\s*h\s*([0-9]+)\s*(?:m|min)\s*", text)
    if parts is not None:
        text = f"{int(parts[1]) * 60 + int(parts[2])}min"
    number, unit = _split(text, field, expected)
    return float(_whole(number * 1000, _SECONDS.get(unit.lower()), text, field, expected)) / 1000


def _split(text: str, field: str, expected: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise UsageError(f"{field}: found {text[:60]!r}, expected {expected}")
    return float(match[1].replace("_", "").replace(",", "")), match[2]


def _whole(number: float, factor: int | None, text: str, field: str, expected: str) -> int:
    if factor is None or not 0 < number * factor < _MOST:
        raise UsageError(f"{field}: found {text[:60]!r}, expected {expected}")
    return round(number * factor)
