"""What must be the same on all hosts, and is not: who differs from the rest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from unhang.linting.checks import SAME_ON_ALL
from unhang.model.preflight import Status

SETTINGS = SAME_ON_ALL
_BREAKS = frozenset({"torch", "nccl", "unhang"})
"""Different releases speak different protocols, or choose different algorithms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One value that is not the same everywhere.

    Attributes:
        name: of the value.
        usual: what most have; None where there is no majority.
        others: who has what else; where there is no majority, everybody.
    """

    name: str
    status: Status
    usual: str | None
    others: Mapping[str, str]


def differences(values: Mapping[str, Mapping[str, object]]) -> Iterator[Difference]:
    """Compare the values of members (hosts, or ranks) by name.

    Args:
        values: by member, then by name; what a member does not have counts as `unset`.
    """
    for name in sorted({name for own in values.values() for name in own}):
        found = {member: _text(own.get(name)) for member, own in values.items()}
        classes: dict[str, list[str]] = {}
        for member, text in found.items():
            classes.setdefault(text, []).append(member)
        if len(classes) < 2:
            continue
        usual, most = max(classes.items(), key=lambda item: len(item[1]))
        majority = len(most) * 2 > len(found)
        yield Difference(
            name=name,
            status=Status.FAIL if name in _BREAKS or name in SETTINGS else Status.WARN,
            usual=usual if majority else None,
            others={m: text for m, text in found.items() if not majority or text != usual},
        )


def offsets(clocks: Mapping[str, Iterable[tuple[float, float, float]]]) -> dict[str, float]:
    """Seconds by which each host's clock is ahead of rank 0's, by the quickest question.

    Args:
        clocks: by host: when it was asked, what it said, when the answer came. The offset is known
            to half of the time that the question took (as in NTP).
    """
    found = {}
    for host, rounds in clocks.items():
        asked, said, came = min(rounds, key=lambda r: r[2] - r[0])
        found[host] = said - (asked + came) / 2
    return found


def _text(value: object) -> str:
    if value is None:
        return "unset"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
